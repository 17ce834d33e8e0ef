// Rows of token ids, gathered one by one into a data set.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"
#include "worker/rank/data/boundary_tokens.h"
#include "worker/rank/data/dataset.h"
#include "worker/rank/tokenizer/tokenizer.h"

namespace trainctl::data {

class RowCollector {
 public:
  RowCollector(const Tokenizer& tokenizer, BoundaryTokens boundary, int64_t vocab,
               int64_t max_seq_length)
      : tokenizer_(tokenizer),
        boundary_(std::move(boundary)),
        vocab_(vocab),
        max_seq_length_(max_seq_length) {}

  // [bos] prompt, completion [eos], each encoded alone, then truncated. A text that spells bos or
  // eos out itself gets no second. With mask_prompt the labels of bos and prompt are ignored.
  // kInvalid: no tokens at all, one beyond the model's vocabulary, or more than kMaxTextBytes.
  base::Status Add(std::string_view prompt, std::string_view completion, bool mask_prompt);

  std::vector<int32_t> TakeTokens() { return std::move(tokens_); }
  std::vector<Row> TakeRows() { return std::move(rows_); }

 private:
  const Tokenizer& tokenizer_;
  const BoundaryTokens boundary_;
  const int64_t vocab_;
  const int64_t max_seq_length_;
  std::vector<int32_t> tokens_;
  std::vector<Row> rows_;
};

// kInvalid names the token and its text: the tokenizer does not belong to the model.
base::Status CheckVocabulary(std::span<const int32_t> ids, int64_t vocab,
                             const Tokenizer& tokenizer);

}  // namespace trainctl::data
