// A folder of its own, removed with all in it.
#pragma once

#include <filesystem>
#include <string>

#include "common/base/check.h"

namespace trainctl::rpc_test {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "trainctl-rpc-XXXXXX").string();
    CHECK(mkdtemp(name.data()) != nullptr) << name;
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace trainctl::rpc_test
