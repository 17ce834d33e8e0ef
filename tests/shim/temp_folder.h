// A folder that goes with the test.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace trainctl::tests {

class TempFolder {
 public:
  TempFolder() {
    std::string pattern = std::filesystem::temp_directory_path() / "trainctl-test-XXXXXX";
    path_ = ::mkdtemp(pattern.data());
  }
  ~TempFolder() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
    if (error) ADD_FAILURE() << path_ << ": " << error.message() << ". Still there:" << Left();
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  // What a process that outlives its test has written meanwhile.
  std::string Left() const {
    std::string left;
    std::error_code error;
    for (std::filesystem::recursive_directory_iterator at(path_, error), end; !error && at != end;
         at.increment(error))
      left += " " + at->path().string();
    return left;
  }

  std::string path_;
};

}  // namespace trainctl::tests
