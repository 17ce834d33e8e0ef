// A folder for one test, removed after it.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <string>

#include "common/base/check.h"
#include "common/base/file.h"

namespace trainctl::client {

class ScratchFolder {
 public:
  ScratchFolder() {
    char folder[] = "/tmp/trainctl-client-XXXXXX";
    CHECK(mkdtemp(folder) != nullptr);
    path_ = folder;
  }
  ~ScratchFolder() { std::filesystem::remove_all(path_); }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

  // The new file's path; folders are made.
  std::string Write(const std::string& name, const std::string& text) const {
    const std::string file = *this / name;
    std::filesystem::create_directories(std::filesystem::path(file).parent_path());
    CHECK(base::WriteFileAtomically(file, text).ok()) << file;
    return file;
  }

  // "" of a file that is not there.
  std::string Read(const std::string& name) const {
    const base::Result<std::string> text = base::ReadFile(*this / name, 1 << 20);
    return text.ok() ? *text : "";
  }

  bool Has(const std::string& name) const { return std::filesystem::exists(*this / name); }

 private:
  std::string path_;
};

}  // namespace trainctl::client
