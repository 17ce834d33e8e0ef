// Tokenized data sets, kept by content: the same data file, tokenizer and settings are tokenized
// once on a host. A cache only: a file that is missing, damaged or of something else is a miss. A
// file that cannot be written is left out. A file <digest of key>.tokens:
//   "TRAINCTL TOKENS6"
//   u64 bytes of the key, rows, spans, tokens, bytes of a token, pictures, bytes of their names
//   u64 which file holds the pictures that have none; 0: all have
//   u64 XXH64 of all that follows
//   tokens × u16 or i32 (little endian), padded with zeros to 8 bytes
//   rows × {i64 begin, length, ignored}
//   spans × {i64 begin, end}
//   pictures × {i64 names_begin, i32 path_bytes, name_bytes, i64 begin, bytes}, their names
//   the key
// Pictures that were bytes of the data file (picture_spool.h) lie beside it, in a file
// <digest of key>-<which>.pictures. Tokens that are made anew have another. What is broken in it is
// found when the picture is decoded, as of every picture.
// Written under a temporary name, or none, and renamed. Those used last stay: kMostCachedSets, and
// of many bytes fewer. Processes may share the folder.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "worker/rank/data/dataset.h"
#include "worker/rank/data/token_spool.h"
#include "worker/rank/data/token_store.h"

namespace trainctl::data {

constexpr size_t kMostCachedSets = 16;
constexpr int64_t kMostCachedBytes = int64_t{64} << 30;  // of them together, but for the newest

// As a tokenizer made them.
struct Tokenized {
  TokenStore tokens;
  KeptList<Row> rows;
  KeptList<TokenSpan> ignored;  // as in Dataset
  PictureList pictures = {};    // as in Dataset
  SpoolFile file = {};          // of the tokens, if they are in one of their own
};

// The file of a key, which may not be there.
std::string CachedTokensPath(const std::string& folder, const std::string& key);

// nullopt: a miss. Every row and span lies within the tokens, every token is below `vocab`; there
// are pictures for all rows or none. All
// stays in the mapped file, which is read once.
std::optional<Tokenized> FindCachedTokens(const std::string& folder, const std::string& key,
                                          int64_t vocab);

// What has a file of its own becomes the cache's, and lies in that then.
void CacheTokens(const std::string& folder, const std::string& key, Tokenized* made);

}  // namespace trainctl::data
