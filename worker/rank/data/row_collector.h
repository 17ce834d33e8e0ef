// Rows of token ids, gathered one by one into a data set.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"
#include "worker/rank/data/boundary_tokens.h"
#include "worker/rank/data/list_spool.h"
#include "worker/rank/data/masked_tokens.h"
#include "worker/rank/data/picture_list.h"
#include "worker/rank/data/token_cache.h"
#include "worker/rank/data/token_spool.h"
#include "worker/rank/tokenizer/tokenizer.h"

namespace trainctl::data {

// How the two texts of a row become tokens.
enum class Seam {
  kApart,   // each is encoded alone, as LitGPT does
  kJoined,  // as one text: a token across the seam belongs to the completion
};

struct PromptRow {
  std::string_view prompt = {};
  std::string_view completion = {};
  bool mask_prompt = false;
  Seam seam = Seam::kApart;
};

class RowCollector {
 public:
  RowCollector(const Tokenizer& tokenizer, BoundaryTokens boundary, int64_t vocab,
               int64_t max_seq_length, SpoolOptions spool = {})
      : tokenizer_(tokenizer),
        boundary_(std::move(boundary)),
        vocab_(vocab),
        max_seq_length_(max_seq_length),
        rows_(spool.folder),
        ignored_(spool.folder),
        pictures_(spool.folder),
        tokens_(std::move(spool)) {}

  // [bos] prompt, completion [eos], then truncated. A text that spells bos or eos out itself gets
  // no second. With mask_prompt the labels of bos and prompt are ignored.
  // kInvalid: no tokens at all, one beyond the model's vocabulary, or more than kMaxTextBytes. Else
  // those of TokenSpool::Append.
  base::Status Add(const PromptRow& row);

  // A row as it is, then truncated. kInvalid: no tokens, or one beyond the model's vocabulary.
  base::Status Add(const MaskedTokens& row);

  // The same of a row with a picture; then all rows have one.
  base::Status AddPicture(const images::PictureFile& picture, const MaskedTokens& row) {
    auto added = Add(row);
    return added ? pictures_.Append(picture) : added;
  }

  // Behind the rows that are there: the first of what another collector of the same settings took.
  // Errors: those of TokenSpool::Append.
  base::Status Append(Tokenized rows, int64_t most_rows);

  // One of the same settings without rows, all in memory.
  RowCollector Empty() const {
    return RowCollector(tokenizer_, boundary_, vocab_, max_seq_length_);
  }

  int64_t count() const { return rows_.size(); }

  // Errors: those of TokenSpool::Take.
  base::Result<Tokenized> Take();

 private:
  // Behind what is there; how many of the ids are the prompt's.
  int64_t Encode(const PromptRow& row, std::vector<int32_t>* ids) const;

  const Tokenizer& tokenizer_;
  const BoundaryTokens boundary_;
  const int64_t vocab_;
  const int64_t max_seq_length_;
  ListSpool<Row> rows_;
  ListSpool<TokenSpan> ignored_;
  PictureListSpool pictures_;
  TokenSpool tokens_;
  Tokenized made_;  // but for these
};

// kInvalid names the token and its text: the tokenizer does not belong to the model.
base::Status CheckVocabulary(std::span<const int32_t> ids, int64_t vocab,
                             const Tokenizer& tokenizer);

}  // namespace trainctl::data
