// Where the bytes of a picture lie: in a file of their own, or within another.
#pragma once

#include <cstdint>
#include <string>

#include "common/base/result.h"

namespace trainctl::images {

struct PictureFile {
  std::string path;
  int64_t begin = 0;
  int64_t bytes = -1;     // −1: up to the file's end, and begin is 0
  std::string name = {};  // that people know it by; "": path

  bool is_whole() const { return bytes < 0; }
  const std::string& Name() const { return name.empty() ? path : name; }
  bool operator==(const PictureFile&) const = default;
};

// kExhausted: more than kMostFileBytes. kInvalid: no regular file, or one that ends before. Else
// those of base::ReadRegularFile. Thread-safe.
base::Result<std::string> ReadPicture(const PictureFile& file);

}  // namespace trainctl::images
