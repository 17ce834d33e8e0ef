// Where each row's picture lies. Long lists are spooled to nameless files of a folder, as tokens
// are: millions of paths are never held.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "common/base/result.h"
#include "worker/rank/data/kept_list.h"
#include "worker/rank/data/list_spool.h"
#include "worker/rank/data/picture_spool.h"
#include "worker/rank/images/picture_file.h"

namespace trainctl::data {

// A picture's path and name stand one behind the other in PictureList::names. One without a path
// lies in PictureList::spool.
struct PictureEntry {
  int64_t names_begin = 0;
  int32_t path_bytes = 0, name_bytes = 0;
  int64_t begin = 0, bytes = 0;  // as in PictureFile
};

// What people know a picture by that is bytes of a row, and has no name.
inline constexpr char kNamelessPicture[] = "its picture";

// Immutable, and then thread-safe.
struct PictureList {
  KeptList<PictureEntry> entries;
  KeptList<char> names;
  std::shared_ptr<PictureSpool> spool = {};  // holds those without a path; null: there are none

  int64_t size() const { return std::ssize(entries.all()); }
  bool empty() const { return entries.empty(); }
  // CHECKs that there is such a row.
  images::PictureFile operator[](int64_t row) const;
  // Each entry lies within the names, and says what a picture's place can be.
  bool IsWhole() const;
};

// Not thread-safe.
class PictureListSpool {
 public:
  // folder: as ListSpool's.
  explicit PictureListSpool(const std::string& folder = "") : entries_(folder), names_(folder) {}

  // Errors: those of ListSpool::Append.
  base::Status Append(const images::PictureFile& file);
  // The first `count` of a list, whose spool must be that of the whole.
  base::Status Append(const PictureList& list, int64_t count);
  // All of them; nothing is left. Errors: those of Append.
  base::Result<PictureList> Take();

 private:
  ListSpool<PictureEntry> entries_;
  ListSpool<char> names_;
};

}  // namespace trainctl::data
