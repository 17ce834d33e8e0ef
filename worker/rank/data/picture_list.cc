#include "worker/rank/data/picture_list.h"

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>

namespace trainctl::data {

images::PictureFile PictureList::operator[](int64_t row) const {
  const PictureEntry& entry = entries.at(static_cast<size_t>(row));
  const char* path = names.data() + entry.names_begin;
  images::PictureFile file{
      .path = std::string(path, static_cast<size_t>(entry.path_bytes)),
      .begin = entry.begin,
      .bytes = entry.bytes,
      .name = std::string(path + entry.path_bytes, static_cast<size_t>(entry.name_bytes))};
  if (entry.path_bytes > 0 || spool == nullptr) return file;
  file.path = spool->path();
  if (file.name.empty()) file.name = kNamelessPicture;
  return file;
}

bool PictureList::IsWhole() const {
  const auto all = static_cast<int64_t>(names.size());
  const int64_t spooled = spool ? spool->bytes() : 0;
  return std::ranges::all_of(entries, [all, spooled](const PictureEntry& entry) {
    const bool has_place =
        entry.path_bytes > 0 || (entry.bytes >= 0 && entry.begin <= spooled - entry.bytes);
    return entry.path_bytes >= 0 && entry.name_bytes >= 0 && entry.names_begin >= 0 &&
           entry.names_begin <= all - entry.path_bytes - entry.name_bytes && entry.begin >= 0 &&
           entry.bytes >= -1 && has_place;
  });
}

base::Status PictureListSpool::Append(const images::PictureFile& file) {
  const PictureEntry entry{.names_begin = names_.size(),
                           .path_bytes = static_cast<int32_t>(file.path.size()),
                           .name_bytes = static_cast<int32_t>(file.name.size()),
                           .begin = file.begin,
                           .bytes = file.bytes};
  if (auto kept = names_.Append(std::span(file.path)); !kept) return kept;
  if (auto kept = names_.Append(std::span(file.name)); !kept) return kept;
  return entries_.Append(entry);
}

base::Status PictureListSpool::Append(const PictureList& list, int64_t count) {
  if (count == 0) return base::Ok{};
  const int64_t shift = names_.size();
  const PictureEntry& last = list.entries.at(static_cast<size_t>(count - 1));
  const int64_t used = last.names_begin + last.path_bytes + last.name_bytes;
  if (auto kept = names_.Append(list.names.all().first(static_cast<size_t>(used))); !kept)
    return kept;
  for (PictureEntry entry : list.entries.all().first(static_cast<size_t>(count))) {
    entry.names_begin += shift;
    if (auto kept = entries_.Append(entry); !kept) return kept;
  }
  return base::Ok{};
}

base::Result<PictureList> PictureListSpool::Take() {
  auto entries = entries_.Take();
  if (!entries) return entries.error();
  auto names = names_.Take();
  if (!names) return names.error();
  return PictureList{std::move(*entries), std::move(*names)};
}

}  // namespace trainctl::data
