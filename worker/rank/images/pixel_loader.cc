#include "worker/rank/images/pixel_loader.h"

#include <exception>
#include <utility>

#include "common/base/check.h"
#include "worker/rank/images/decode.h"

namespace trainctl::images {

PixelLoader::PixelLoader(FileOfRow file_of, const LoaderOptions& options)
    : file_of_(std::move(file_of)),
      side_(options.side),
      most_ahead_(options.most_ahead),
      cache_(options.most_cached_bytes / PixelBytes(options.side)) {
  for (int i = 0; i < options.threads; ++i) threads_.emplace_back([this] { Work(); });
}

PixelLoader::~PixelLoader() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  work_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void PixelLoader::Ahead(std::span<const int64_t> rows) {
  if (threads_.empty()) return;
  const std::lock_guard lock(mutex_);
  for (const int64_t row : rows) {
    const auto known = asked_.find(row);
    if (known != asked_.end()) {
      ++known->second.times;
    } else if (std::ssize(asked_) < most_ahead_) {
      asked_[row].times = 1;
      waiting_.push_back(row);
      work_.notify_one();
    }
  }
}

PixelLoader::Loaded PixelLoader::Take(int64_t row) {
  std::unique_lock lock(mutex_);
  const auto asked = asked_.find(row);
  if (asked == asked_.end()) {
    lock.unlock();
    return Load(row);
  }
  done_.wait(lock, [&] { return asked->second.loaded.has_value(); });
  Loaded loaded = *asked->second.loaded;
  if (--asked->second.times == 0) asked_.erase(asked);
  return loaded;
}

base::Status PixelLoader::TakeNormalized(std::span<const int64_t> rows, std::span<float> out) {
  const auto each = static_cast<size_t>(PixelBytes(side_));
  CHECK(out.size() == rows.size() * each) << out.size() << " of " << rows.size() << " rows";
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto pixels = Take(rows[i]);
    if (!pixels) return pixels.error();
    Normalize(**pixels, out.subspan(i * each, each));
  }
  return base::Ok{};
}

LoaderCounts PixelLoader::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

void PixelLoader::Work() {
  std::unique_lock lock(mutex_);
  while (true) {
    work_.wait(lock, [&] { return stopping_ || !waiting_.empty(); });
    if (stopping_) return;
    const int64_t row = waiting_.front();
    waiting_.pop_front();
    lock.unlock();
    Loaded loaded = Load(row);
    lock.lock();
    asked_.at(row).loaded = std::move(loaded);
    done_.notify_all();
  }
}

// Decoders throw nothing, but memory can be short.
PixelLoader::Loaded PixelLoader::Load(int64_t row) {
  const PictureFile file = file_of_(row);
  const auto error = [&](base::Code code, const std::string& message) {
    return base::Error{code, "row " + std::to_string(row) + ": " + message};
  };
  try {
    Loaded loaded = LoadFile(file);
    if (!loaded) return error(loaded.error().code, loaded.error().message);
    return loaded;
  } catch (const std::exception& exception) {
    return error(base::Code::kExhausted, file.Name() + ": " + exception.what());
  }
}

base::Result<std::shared_ptr<const Pixels>> PixelLoader::LoadFile(const PictureFile& file) {
  const auto bytes = ReadPicture(file);
  if (!bytes) return bytes.error();
  std::shared_ptr<const Pixels> pixels = cache_.Find(*bytes);
  const bool is_cached = pixels != nullptr;
  if (!is_cached) {
    const auto picture = Decode(std::as_bytes(std::span(*bytes)));
    if (!picture)
      return base::Error{picture.error().code, file.Name() + ": " + picture.error().message};
    pixels = std::make_shared<const Pixels>(PixelsOf(*picture, side_));
    cache_.Keep(*bytes, pixels);
  }
  const std::lock_guard lock(mutex_);
  ++(is_cached ? counts_.cached : counts_.decoded);
  return pixels;
}

}  // namespace trainctl::images
