#include "worker/rank/data/token_store.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace trainctl::data {
namespace {

int64_t WholeTokens(const files::MappedFile& file, int64_t offset_bytes, int width_bytes) {
  return (std::ssize(file.bytes()) - offset_bytes) / width_bytes;
}

// The compiler makes it one of vectors: no branch, no call.
template <class Token>
int64_t LargestOf(const std::byte* bytes, int64_t count) {
  Token largest = 0;
  for (int64_t i = 0; i < count; ++i) {
    Token token;
    std::memcpy(&token, bytes + i * static_cast<int64_t>(sizeof(Token)), sizeof(Token));
    largest = std::max(largest, token);
  }
  return largest;
}

}  // namespace

TokenStore::TokenStore(files::MappedFile file, int64_t offset_bytes, int width_bytes) {
  const int64_t count = WholeTokens(file, offset_bytes, width_bytes);
  *this = TokenStore(std::make_shared<const files::MappedFile>(std::move(file)), offset_bytes,
                     width_bytes, count);
}

TokenStore::TokenStore(std::shared_ptr<const files::MappedFile> file, int64_t offset_bytes,
                       int width_bytes, int64_t count)
    : source_(Mapped{std::move(file), offset_bytes, width_bytes, count}) {
  const Mapped& mapped = std::get<Mapped>(source_);
  CHECK((width_bytes == 2 || width_bytes == 4) && count >= 0 &&
        count <= WholeTokens(*mapped.file, offset_bytes, width_bytes))
      << offset_bytes << ", " << count << " of " << width_bytes;
}

int64_t TokenStore::size() const {
  if (const auto* tokens = std::get_if<std::vector<int32_t>>(&source_)) return std::ssize(*tokens);
  return std::get<Mapped>(source_).count;
}

int64_t TokenStore::operator[](int64_t index) const {
  if (const auto* tokens = std::get_if<std::vector<int32_t>>(&source_)) return (*tokens)[index];
  const Mapped& mapped = std::get<Mapped>(source_);
  uint32_t token = 0;  // little endian, as every machine this runs on
  std::memcpy(&token,
              mapped.file->bytes().data() + mapped.offset_bytes + index * mapped.width_bytes,
              mapped.width_bytes);
  return token;
}

int64_t TokenStore::Largest(int64_t begin, int64_t end) const {
  if (begin >= end) return -1;
  const std::byte* first = bytes().data() + begin * width_bytes();
  return width_bytes() == 2 ? LargestOf<uint16_t>(first, end - begin)
                            : LargestOf<uint32_t>(first, end - begin);
}

std::span<const std::byte> TokenStore::bytes() const {
  if (const auto* tokens = std::get_if<std::vector<int32_t>>(&source_))
    return std::as_bytes(std::span(*tokens));
  const Mapped& mapped = std::get<Mapped>(source_);
  return mapped.file->bytes().subspan(static_cast<size_t>(mapped.offset_bytes),
                                      static_cast<size_t>(mapped.count * mapped.width_bytes));
}

int TokenStore::width_bytes() const {
  const auto* mapped = std::get_if<Mapped>(&source_);
  return mapped == nullptr ? static_cast<int>(sizeof(int32_t)) : mapped->width_bytes;
}

void TokenStore::Release() const {
  if (const auto* mapped = std::get_if<Mapped>(&source_))
    mapped->file->Release(mapped->file->bytes());
}

}  // namespace trainctl::data
