#include "worker/rank/data/token_store.h"

#include <cstring>
#include <utility>

namespace trainctl::data {

TokenStore::TokenStore(files::MappedFile file, int64_t offset_bytes, int width_bytes)
    : source_(Mapped{std::move(file), offset_bytes, width_bytes}) {
  const Mapped& mapped = std::get<Mapped>(source_);
  CHECK((width_bytes == 2 || width_bytes == 4) &&
        offset_bytes <= static_cast<int64_t>(mapped.file.bytes().size()))
      << offset_bytes;
}

int64_t TokenStore::size() const {
  if (const auto* tokens = std::get_if<std::vector<int32_t>>(&source_))
    return static_cast<int64_t>(tokens->size());
  const Mapped& mapped = std::get<Mapped>(source_);
  return (static_cast<int64_t>(mapped.file.bytes().size()) - mapped.offset_bytes) /
         mapped.width_bytes;
}

int64_t TokenStore::operator[](int64_t index) const {
  if (const auto* tokens = std::get_if<std::vector<int32_t>>(&source_)) return (*tokens)[index];
  const Mapped& mapped = std::get<Mapped>(source_);
  uint32_t token = 0;  // little endian, as every machine this runs on
  std::memcpy(&token, mapped.file.bytes().data() + mapped.offset_bytes + index * mapped.width_bytes,
              mapped.width_bytes);
  return token;
}

std::span<const std::byte> TokenStore::bytes() const {
  if (const auto* tokens = std::get_if<std::vector<int32_t>>(&source_))
    return std::as_bytes(std::span(*tokens));
  const Mapped& mapped = std::get<Mapped>(source_);
  CHECK(mapped.width_bytes == sizeof(int32_t)) << mapped.width_bytes;
  return mapped.file.bytes().subspan(static_cast<size_t>(mapped.offset_bytes));
}

void TokenStore::Release() const {
  if (const auto* mapped = std::get_if<Mapped>(&source_))
    mapped->file.Release(mapped->file.bytes());
}

}  // namespace trainctl::data
