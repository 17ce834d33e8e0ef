#include "worker/train/staging.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>

#include <cstddef>
#include <utility>

#include "common/base/check.h"

namespace trainctl::train {

Staging::Staging(at::Device device, int64_t buffer_bytes, int64_t most_buffers)
    : device_(device), buffer_bytes_(buffer_bytes), most_buffers_(most_buffers) {
  CHECK(buffer_bytes > 0 && most_buffers > 0) << buffer_bytes << " bytes, " << most_buffers << " buffers";
}

// On a CPU slot outside of the allocator whose limit is the job's gpu_memory_limit: this is the host's memory, not the device's.
at::Tensor Staging::MakeBuffer() const {
  const auto options = at::TensorOptions().dtype(at::kByte);
  if (device_.is_cuda()) return at::empty({buffer_bytes_}, options.pinned_memory(true));
  auto* memory = new std::byte[static_cast<size_t>(buffer_bytes_)];
  return at::from_blob(memory, {buffer_bytes_}, [](void* bytes) { delete[] static_cast<std::byte*>(bytes); }, options);
}

at::Tensor Staging::Take() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !free_.empty() || made_ < most_buffers_; });
  if (free_.empty()) {
    ++made_;
    lock.unlock();
    return MakeBuffer();
  }
  at::Tensor buffer = std::move(free_.back());
  free_.pop_back();
  return buffer;
}

void Staging::Push(StagedBytes filled) {
  const std::lock_guard lock(mutex_);
  filled_.push_back(std::move(filled));
  changed_.notify_all();
}

void Staging::Close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  changed_.notify_all();
}

std::optional<StagedBytes> Staging::Pop() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !filled_.empty() || closed_; });
  if (filled_.empty()) {
    closed_ = false;
    return std::nullopt;
  }
  StagedBytes next = std::move(filled_.front());
  filled_.pop_front();
  return next;
}

void Staging::GiveBack(at::Tensor buffer) {
  const std::lock_guard lock(mutex_);
  free_.push_back(std::move(buffer));
  changed_.notify_all();
}

}  // namespace trainctl::train
