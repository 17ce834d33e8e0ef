// The tokens of all rows, one after another. Few that a tokenizer made are in memory (4 bytes a
// token), more in a mapped file. If the data file already is a list of tokens, they are the file
// itself. So a corpus of tens of gigabytes costs no memory.
#pragma once

#include <cstdint>
#include <memory>
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
  // Only so many of them.
  TokenStore(std::shared_ptr<const files::MappedFile> file, int64_t offset_bytes, int width_bytes,
             int64_t count);

  int64_t size() const;
  int64_t operator[](int64_t index) const;
  // Of those from begin up to end. Some GB a second; -1 where there are none.
  int64_t Largest(int64_t begin, int64_t end) const;
  bool is_mapped() const { return std::holds_alternative<Mapped>(source_); }
  // All of them, as they lie there.
  std::span<const std::byte> bytes() const;
  int width_bytes() const;
  // Those that were read are the kernel's to take back; a store in memory keeps them.
  void Release() const;

 private:
  struct Mapped {
    std::shared_ptr<const files::MappedFile> file;
    int64_t offset_bytes;
    int width_bytes;
    int64_t count;
  };
  std::variant<std::vector<int32_t>, Mapped> source_;
};

}  // namespace trainctl::data
