// A lock that ends with its process: an flock on a file that names who has it. Internal to this
// room.
#pragma once

#include <memory>
#include <string>

#include "common/base/result.h"

namespace trainctl::store {

std::string LockPath(const std::string& directory);  // of the coordinator's folder

class LockFile {
 public:
  // kConflict: another process has it, with its pid. kIo.
  static base::Result<std::unique_ptr<LockFile>> Take(const std::string& path);
  ~LockFile();
  LockFile(const LockFile&) = delete;

 private:
  explicit LockFile(int descriptor) : descriptor_(descriptor) {}

  int descriptor_;
};

}  // namespace trainctl::store
