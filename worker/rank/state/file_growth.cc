#include "worker/rank/state/file_growth.h"

#include <chrono>
#include <system_error>
#include <utility>

namespace trainctl::train {
namespace {

constexpr auto kLookInterval = std::chrono::milliseconds(250);

int64_t BytesOfAll(const std::vector<std::filesystem::path>& files) {
  int64_t bytes = 0;
  for (const std::filesystem::path& file : files) {
    std::error_code error;
    const std::uintmax_t size = std::filesystem::file_size(file, error);
    if (!error) bytes += static_cast<int64_t>(size);
  }
  return bytes;
}

}  // namespace

FileGrowth::FileGrowth(std::vector<std::filesystem::path> files,
                       std::function<void(int64_t bytes)> report)
    : files_(std::move(files)), report_(std::move(report)), thread_([this] { Run(); }) {}

FileGrowth::~FileGrowth() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void FileGrowth::Run() {
  int64_t told = 0;
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, kLookInterval, [this] { return is_ending_; })) {
    lock.unlock();
    const int64_t bytes = BytesOfAll(files_);
    if (bytes != told) report_(bytes);
    told = bytes;
    lock.lock();
  }
}

}  // namespace trainctl::train
