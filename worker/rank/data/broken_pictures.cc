#include "worker/rank/data/broken_pictures.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>

#include "worker/rank/images/decode.h"

namespace trainctl::data {
namespace {

constexpr size_t kMostTold = 3;

// "": nothing is wrong with it.
std::string FaultIn(const images::PictureFile& file) {
  try {
    const auto picture = images::DecodeFile(file);
    return picture ? "" : picture.error().message;
  } catch (const std::exception& exception) {  // there was no memory for it
    return file.Name() + ": " + exception.what();
  }
}

}  // namespace

std::vector<BrokenPicture> FindBroken(std::span<const images::PictureFile> files, int threads) {
  std::vector<BrokenPicture> broken;
  std::mutex mutex;
  std::atomic<size_t> next = 0;
  const auto look = [&] {
    for (size_t row = next++; row < files.size(); row = next++) {
      std::string fault = FaultIn(files[row]);
      if (fault.empty()) continue;
      const std::lock_guard lock(mutex);
      broken.push_back({static_cast<int64_t>(row), std::move(fault)});
    }
  };
  std::vector<std::thread> others;
  for (int i = 1; i < threads; ++i) others.emplace_back(look);
  look();
  for (std::thread& other : others) other.join();
  std::ranges::sort(broken, {}, &BrokenPicture::row);
  return broken;
}

std::string BrokenText(std::span<const BrokenPicture> broken) {
  std::string text;
  for (const BrokenPicture& picture : broken.first(std::min(broken.size(), kMostTold)))
    text += "\n  row " + std::to_string(picture.row) + ": " + picture.why;
  return broken.size() > kMostTold ? text + "\n  …" : text;
}

}  // namespace trainctl::data
