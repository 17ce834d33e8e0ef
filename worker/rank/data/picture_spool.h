// Pictures that come as bytes, one behind the other in a nameless file of a folder: a data set of
// any size is never held in memory. Not thread-safe, but for what was appended.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/result.h"
#include "worker/rank/images/picture_file.h"

namespace trainctl::data {

class PictureSpool {
 public:
  // folder: "": nothing can be kept.
  explicit PictureSpool(std::string folder) : folder_(std::move(folder)) {}
  PictureSpool(const PictureSpool&) = delete;
  ~PictureSpool();

  // Good for as long as the spool lives. kExhausted: nothing more can be written there.
  base::Result<images::PictureFile> Append(std::string_view bytes, std::string name);

 private:
  const std::string folder_;
  int fd_ = -1;
  int64_t written_ = 0;
};

}  // namespace trainctl::data
