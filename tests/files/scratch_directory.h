// A folder of a test's own, removed with everything in it at the test's end.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace trainctl {

class ScratchDirectory {
 public:
  ScratchDirectory() {
    std::string name = testing::TempDir() + "trainctl-XXXXXX";
    path_ = mkdtemp(name.data());
  }
  ~ScratchDirectory() { std::filesystem::remove_all(path_); }
  ScratchDirectory(const ScratchDirectory&) = delete;

  const std::string& path() const { return path_; }

  // The path of a new file with this content.
  std::string Write(const std::string& name, std::string_view content) const {
    const std::string path = path_ + "/" + name;
    std::ofstream(path, std::ios::binary) << content;
    return path;
  }

 private:
  std::string path_;
};

}  // namespace trainctl
