#include "worker/rank/state/staging.h"

#include <ATen/ops/from_blob.h>
#include <c10/core/DeviceGuard.h>

#include <memory>
#include <utility>

#include "common/base/check.h"
#include "worker/rank/optim/host_block.h"
#include "worker/rank/optim/host_memory.h"

namespace trainctl::train {
namespace {

constexpr int64_t kFewestBuffers = 2;  // one is filled while the other is written

}  // namespace

Staging::Staging(at::Device device, int64_t buffer_bytes, int64_t most_buffers)
    : device_(device), buffer_bytes_(buffer_bytes), most_buffers_(most_buffers) {
  CHECK(buffer_bytes > 0 && most_buffers > 0)
      << buffer_bytes << " bytes, " << most_buffers << " buffers";
  maker_ = std::thread([this] { MakeBuffers(); });
}

Staging::~Staging() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  maker_.join();
}

void Staging::MakeBuffers() {
  try {
    MakeAsManyAsTheHostSpares();
  } catch (...) {
    const std::lock_guard lock(mutex_);
    no_buffers_ = std::current_exception();
    changed_.notify_all();
  }
}

void Staging::MakeAsManyAsTheHostSpares() {
  const int64_t kept = optim::AvailableHostMemory().bytes / 2;
  for (int64_t made = 0; made < most_buffers_; ++made) {
    if (made >= kFewestBuffers && optim::AvailableHostMemory().bytes - buffer_bytes_ < kept) return;
    at::Tensor buffer = MakeBuffer();
    const std::lock_guard lock(mutex_);
    if (ends_) return;
    free_.push_back(std::move(buffer));
    changed_.notify_all();
  }
}

// On a CPU slot outside of the allocator whose limit is the job's gpu_memory_limit: this is the
// host's memory, not the device's.
at::Tensor Staging::MakeBuffer() const {
  const c10::DeviceGuard guard(device_);
  const auto block = std::make_shared<optim::HostBlock>(buffer_bytes_, device_, /*pinned=*/true,
                                                        "a copy for a checkpoint");
  return at::from_blob(
      block->data(), {buffer_bytes_}, [block](void*) {}, at::TensorOptions().dtype(at::kByte));
}

at::Tensor Staging::Take() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !free_.empty() || no_buffers_; });
  if (free_.empty()) std::rethrow_exception(no_buffers_);
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
