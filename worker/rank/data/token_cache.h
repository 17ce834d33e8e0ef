// Tokenized data sets, kept by content: the same data file, tokenizer and settings are tokenized
// once on a host. A cache only: a file that is missing, damaged or of something else is a miss. A
// file that cannot be written is left out. A file <digest of key>.tokens:
//   "TRAINCTL TOKENS2"
//   u64 bytes of the key, rows, spans, tokens, XXH64 of all that follows
//   the key, padded with zeros to 8 bytes
//   rows × {i64 begin, length, ignored}
//   spans × {i64 begin, end}
//   tokens × i32 (little endian)
// Written under a temporary name and renamed; the kMostCachedSets used last stay. Processes may
// share the folder.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "worker/rank/data/dataset.h"
#include "worker/rank/data/token_store.h"

namespace trainctl::data {

constexpr size_t kMostCachedSets = 16;

// As a tokenizer made them.
struct Tokenized {
  TokenStore tokens;
  std::vector<Row> rows;
  std::vector<TokenSpan> ignored;  // as in Dataset
  // As in Dataset; such data sets are not cached.
  std::vector<images::PictureFile> pictures = {};
  std::unique_ptr<PictureSpool> spool = {};
};

// The file of a key, which may not be there.
std::string CachedTokensPath(const std::string& folder, const std::string& key);

// nullopt: a miss. Every row and span lies within the tokens, every token is below `vocab`. The
// tokens stay in the mapped file.
std::optional<Tokenized> FindCachedTokens(const std::string& folder, const std::string& key,
                                          int64_t vocab);

void CacheTokens(const std::string& folder, const std::string& key, const Tokenized& made);

}  // namespace trainctl::data
