// Pictures of rows that can't be read.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"
#include "worker/rank/data/picture_list.h"

namespace trainctl::data {

struct BrokenPicture {
  int64_t row = 0;  // from 0, of the file
  std::string why;  // names the picture
};

// Decodes all of them, on so many threads. By row. One that is broken is so on every host.
// progress: told on the calling thread how many were begun, and that all were.
// Errors: those of images::DecodeFile but kInvalid, and kExhausted, no memory for it. They may be
// this host's own, and say "row 12: <name>: …".
base::Result<std::vector<BrokenPicture>> FindBroken(const PictureList& files, int threads,
                                                    const std::function<void(int64_t)>& progress);

// Of those that are left out: other rows, another digest.
std::string DigestWithout(const std::string& digest, std::span<const BrokenPicture> broken);

// A line each of the first ones, each behind a line break: "row 12: <name>: …".
inline constexpr size_t kFewBroken = 3;
std::string BrokenText(std::span<const BrokenPicture> broken, size_t most_told = kFewBroken);

// Behind the fault of a picture that such a job leaves out.
inline constexpr std::string_view kSkipHint =
    "; data.on_broken_picture \"skip\" leaves out the rows of broken pictures";

}  // namespace trainctl::data
