// The tokens of all rows, one after another. They are in memory (4 bytes a token) if a tokenizer
// made them. If the data file already is a list of tokens, they are the mapped file itself. So a
// corpus of tens of gigabytes costs no memory.
#pragma once

#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include "worker/rank/files/mapped_file.h"

namespace trainctl::data {

// Immutable, thread-safe.
class TokenStore {
 public:
  TokenStore() = default;
  explicit TokenStore(std::vector<int32_t> tokens) : source_(std::move(tokens)) {}
  // The tokens start at offset_bytes of the file, little endian, width_bytes (2 or 4) each, up to
  // its end.
  TokenStore(files::MappedFile file, int64_t offset_bytes, int width_bytes);

  int64_t size() const;
  int64_t operator[](int64_t index) const;

 private:
  struct Mapped {
    files::MappedFile file;
    int64_t offset_bytes;
    int width_bytes;
  };
  std::variant<std::vector<int32_t>, Mapped> source_;
};

}  // namespace trainctl::data
