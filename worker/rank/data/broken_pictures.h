// Pictures of rows that can't be read.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "worker/rank/images/picture_file.h"

namespace trainctl::data {

struct BrokenPicture {
  int64_t row = 0;  // from 0, of the file
  std::string why;  // names the picture
};

// Decodes all of them, on so many threads. By row.
std::vector<BrokenPicture> FindBroken(std::span<const images::PictureFile> files, int threads);

// A line each of the first few, each behind a line break: "row 12: <name>: …".
std::string BrokenText(std::span<const BrokenPicture> broken);

}  // namespace trainctl::data
