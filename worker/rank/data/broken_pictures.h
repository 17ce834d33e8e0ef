// Pictures of rows that can't be read.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "worker/rank/images/picture_file.h"

namespace trainctl::data {

struct BrokenPicture {
  int64_t row = 0;  // from 0, of the file
  std::string why;  // names the picture
};

// Decodes all of them, on so many threads. By row. One that is broken is so on every host.
// progress: told on the calling thread how many were begun, and that all were.
// Errors: those of images::DecodeFile but kInvalid, and kExhausted, no memory for it. They may be
// this host's own, and say "row 12: <name>: …".
base::Result<std::vector<BrokenPicture>> FindBroken(std::span<const images::PictureFile> files,
                                                    int threads,
                                                    const std::function<void(int64_t)>& progress);

// Of those that are left out: other rows, another digest.
std::string DigestWithout(const std::string& digest, std::span<const BrokenPicture> broken);

// A line each of the first few, each behind a line break: "row 12: <name>: …".
std::string BrokenText(std::span<const BrokenPicture> broken);

}  // namespace trainctl::data
