// The BPE model of a tokenizer.json, as tokenizers' models::bpe computes it.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/result.h"
#include "worker/rank/tokenizer/bpe_merge.h"
#include "worker/rank/tokenizer/merge_table.h"
#include "worker/rank/tokenizer/string_map.h"
#include "worker/rank/tokenizer/told_words.h"
#include "worker/rank/tokenizer/word_cache.h"

namespace trainctl::data {

struct BpeSpec {
  StringMap<int32_t> vocab;                                 // entry → id ≥ 0
  std::vector<std::pair<std::string, std::string>> merges;  // by rank
  std::optional<std::string> unk_token;  // null: characters that have no entry vanish
  bool fuse_unk = false;                 // neighbouring unknown characters become one unk_token
  bool byte_fallback =
      false;  // characters without an entry become <0x00> … <0xFF>, where all of theirs exist
  bool ignore_merges = false;  // a word that has an entry becomes it at once
  bool byte_level = false;     // the vocabulary is written in byte_level.h's alphabet
};

// Thread-safe.
class BpeModel {
 public:
  // kInvalid: a merge whose parts or result have no entry, an unk_token without one. Messages begin
  // with what is wrong, without a path.
  static base::Result<BpeModel> Create(BpeSpec spec);

  // The ids of one word, appended. The word is raw UTF-8, with byte_level too.
  void Encode(std::string_view word, std::vector<int32_t>* ids, ToldWords* told) const;

  // By the entry as the file writes it; −1: none.
  int32_t IdOf(std::string_view entry) const;
  const StringMap<int32_t>& vocab() const { return spec_.vocab; }

 private:
  explicit BpeModel(BpeSpec spec) : spec_(std::move(spec)) {}
  base::Status BuildMerges();
  void BuildBytes();
  void EncodeWord(std::string_view word, std::vector<int32_t>* ids) const;
  std::vector<Symbol> SymbolsOf(std::string_view word) const;
  int32_t IdOfUnit(std::string_view unit) const;
  bool AppendBytes(std::string_view unit, std::vector<Symbol>* symbols) const;

  BpeSpec spec_;
  MergeTable merges_;
  bool cuts_at_spaces_ = false;  // space_words.h
  int32_t unk_id_ = -1;
  std::array<int32_t, 256> byte_ids_{};  // of one-byte words (byte_level) or of <0x00> … <0xFF>
                                         // (byte_fallback); −1: none
  StringMap<int32_t> words_;  // with byte_level and ignore_merges: the entries as raw bytes
  std::unique_ptr<WordCache> cache_ =
      std::make_unique<WordCache>();  // behind a pointer: the model is a value, a mutex is not
};

}  // namespace trainctl::data
