// Tells how far a file is that somebody else's code writes, as a library does in one long call.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace trainctl::train {

class FileGrowth {
 public:
  // A thread of its own looks at the files a few times a second. It calls report with the bytes of
  // all of them whenever they have changed. A file that is not there has none.
  FileGrowth(std::vector<std::filesystem::path> files, std::function<void(int64_t bytes)> report);
  // No call of report comes later.
  ~FileGrowth();

 private:
  void Run();

  const std::vector<std::filesystem::path> files_;
  const std::function<void(int64_t)> report_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool is_ending_ = false;
  std::thread thread_;
};

}  // namespace trainctl::train
