// Pictures that come as bytes, one behind the other in a file of a folder: a data set of any size
// is never held in memory. The file is nameless, or the cache's own (token_cache.h):
//   "TRAINCTL PICTURE", zeros up to SpoolFile::kHeadBytes, the pictures in any order
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "common/base/result.h"
#include "worker/rank/data/token_spool.h"
#include "worker/rank/images/picture_file.h"

namespace trainctl::data {

// Thread-safe.
class PictureSpool {
 public:
  // folder: "": nothing can be kept.
  explicit PictureSpool(std::string folder) : folder_(std::move(folder)) {}
  PictureSpool(const PictureSpool&) = delete;

  // One that was published. nullptr: there is none, or it is something else.
  static std::shared_ptr<PictureSpool> OfFile(const std::string& path);

  // Where it lies in the spool: a picture without a path, which PictureList fills in. kExhausted:
  // nothing more can be written there.
  base::Result<images::PictureFile> Append(std::string_view bytes, std::string name);

  // Of the file, its head with it; 0: there is none.
  int64_t bytes() const;
  // That opens the file, named or not, in this process; good for as long as the spool lives.
  std::string path() const;
  // Gives the file that name. False: it cannot be done.
  bool Publish(const std::string& path);

 private:
  // From there on so many bytes are the caller's to write.
  base::Result<int64_t> Reserve(int64_t bytes);

  const std::string folder_;
  mutable std::mutex mutex_;  // of what follows; the file is written without it
  SpoolFile file_;
  int64_t bytes_ = 0;
};

}  // namespace trainctl::data
