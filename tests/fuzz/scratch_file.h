// Files for parsers that open them by name.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "common/base/check.h"

namespace trainctl::fuzz {

// A folder in memory where the host has one, removed with everything in it.
class ScratchFolder {
 public:
  ScratchFolder() {
    for (const char* place : {"/dev/shm", "/tmp"}) {
      std::string name = std::string(place) + "/trainctl-fuzz-XXXXXX";
      if (path_.empty() && mkdtemp(name.data()) != nullptr) path_ = name;
    }
    CHECK(!path_.empty()) << "neither /dev/shm nor /tmp can be written";
  }
  ~ScratchFolder() { std::filesystem::remove_all(path_); }
  ScratchFolder(const ScratchFolder&) = delete;

  const std::string& path() const { return path_; }

  // The path of a file of this content, which only its owner can read.
  std::string Write(const std::string& name, std::string_view content) const {
    const std::string path = path_ + "/" + name;
    std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
    std::filesystem::permissions(
        path, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
    return path;
  }

 private:
  std::string path_;
};

}  // namespace trainctl::fuzz
