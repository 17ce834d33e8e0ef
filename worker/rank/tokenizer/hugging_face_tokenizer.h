// The pipeline of Hugging Face tokenizers: added tokens → normalizer → added tokens → pre-tokenizer
// → BPE. Of the post-processor, which only adds tokens around a text, the prefix is kept.
// Truncation and padding are left out.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "worker/rank/tokenizer/added_tokens.h"
#include "worker/rank/tokenizer/bpe_model.h"
#include "worker/rank/tokenizer/decoder.h"
#include "worker/rank/tokenizer/normalizer.h"
#include "worker/rank/tokenizer/pre_tokenizer.h"
#include "worker/rank/tokenizer/tokenizer.h"

namespace trainctl::data {

struct TokenizerParts {
  std::vector<AddedToken> added_tokens;
  Normalizer normalizer;
  PreTokenizer pre_tokenizer;
  BpeModel model;
  Decoder decoder;
  std::optional<std::vector<int32_t>> prefix;  // post_processor.h
};

class HuggingFaceTokenizer : public Tokenizer {
 public:
  explicit HuggingFaceTokenizer(TokenizerParts parts);

  using Tokenizer::Encode;
  void Encode(std::string_view text, std::vector<int32_t>* ids,
              const EncodeProgress& progress) const override;
  std::string Decode(std::span<const int32_t> ids) const override;
  bool IsSpecial(int32_t id) const override { return specials_.contains(id); }
  int64_t vocab_size() const override { return static_cast<int64_t>(entries_.size()); }
  int32_t IdOf(std::string_view token) const override;
  const std::optional<std::vector<int32_t>>& prefix() const override { return prefix_; }

 private:
  void EncodeNormalized(std::string_view text, bool at_start, std::vector<int32_t>* ids,
                        ToldWords* told) const;

  Normalizer normalizer_;
  PreTokenizer pre_tokenizer_;
  BpeModel model_;
  Decoder decoder_;
  AddedTokenMatcher in_original_;     // added tokens with normalized = false
  AddedTokenMatcher in_normalized_;   // the others
  std::vector<std::string> entries_;  // by id; empty: no token has it
  std::set<int32_t> specials_;
  std::optional<std::vector<int32_t>> prefix_;
};

}  // namespace trainctl::data
