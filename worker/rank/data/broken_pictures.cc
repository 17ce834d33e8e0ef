#include "worker/rank/data/broken_pictures.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>

#include "worker/rank/files/digest.h"
#include "worker/rank/images/decode.h"

namespace trainctl::data {
namespace {

base::Status Look(const images::PictureFile& file) {
  try {
    const auto picture = images::DecodeFile(file);
    if (!picture) return picture.error();
    return base::Ok{};
  } catch (const std::exception& exception) {  // there was no memory for it
    return base::Error{base::Code::kExhausted, file.Name() + ": " + exception.what()};
  }
}

}  // namespace

base::Result<std::vector<BrokenPicture>> FindBroken(const PictureList& files, int threads,
                                                    const std::function<void(int64_t)>& progress) {
  std::vector<BrokenPicture> broken;
  base::Status status = base::Ok{};
  std::mutex mutex;
  std::atomic<int64_t> next = 0;
  const auto look = [&](bool tells) {
    for (int64_t row = next++; row < files.size(); row = next++) {
      if (tells) progress(row);
      const base::Status seen = Look(files[row]);
      if (seen) continue;
      const base::Error& error = seen.error();
      const std::lock_guard lock(mutex);
      if (error.code == base::Code::kInvalid) {
        broken.push_back({row, error.message});
        continue;
      }
      status = base::Error{error.code, "row " + std::to_string(row) + ": " + error.message};
      next = files.size();
    }
  };
  std::vector<std::thread> others;
  for (int i = 1; i < threads; ++i) others.emplace_back(look, false);
  look(true);
  for (std::thread& other : others) other.join();
  if (!status) return status.error();
  if (!files.empty()) progress(files.size());
  std::ranges::sort(broken, {}, &BrokenPicture::row);
  return broken;
}

std::string DigestWithout(const std::string& digest, std::span<const BrokenPicture> broken) {
  if (broken.empty()) return digest;
  std::string text = digest;
  for (const BrokenPicture& picture : broken) text += " " + std::to_string(picture.row);
  return files::Digest(std::as_bytes(std::span(text)));
}

std::string BrokenText(std::span<const BrokenPicture> broken, size_t most_told) {
  std::string text;
  for (const BrokenPicture& picture : broken.first(std::min(broken.size(), most_told)))
    text += "\n  row " + std::to_string(picture.row) + ": " + picture.why;
  return broken.size() > most_told ? text + "\n  …" : text;
}

}  // namespace trainctl::data
