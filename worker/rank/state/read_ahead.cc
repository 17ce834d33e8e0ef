#include "worker/rank/state/read_ahead.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <thread>

#include "common/base/check.h"
#include "worker/rank/process/stream_mark.h"

namespace trainctl::train {
namespace {

using Part = std::span<const std::byte>;

constexpr size_t kThreads = 4;

at::Tensor Mapped(Part part) {
  return at::from_blob(const_cast<std::byte*>(part.data()), {static_cast<int64_t>(part.size())},
                       at::TensorOptions().dtype(at::kByte));
}

// Part i goes through buffer i mod n.
class Ring {
 public:
  explicit Ring(const std::vector<Part>& parts) : parts_(parts) {
    const size_t count = std::min(kReadAheadBuffers, parts.size());
    for (size_t i = 0; i < count; ++i) {
      buffers_.push_back(
          at::empty({kReadAheadBytes}, at::TensorOptions().dtype(at::kByte).pinned_memory(true)));
    }
    filled_.resize(parts.size(), false);
    for (size_t i = 0; i < std::min(kThreads, parts.size()); ++i)
      threads_.emplace_back([this] { Fill(); });
  }

  ~Ring() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  // Waits until part `index` is in its buffer.
  at::Tensor Take(size_t index) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return filled_[index]; });
    return buffers_[index % buffers_.size()].narrow(0, 0,
                                                    static_cast<int64_t>(parts_[index].size()));
  }

  // The first `count` parts have been taken by the device.
  void Free(size_t count) {
    {
      const std::lock_guard lock(mutex_);
      freed_ = count;
    }
    changed_.notify_all();
  }

 private:
  void Fill() {
    std::unique_lock lock(mutex_);
    while (next_ < parts_.size()) {
      const size_t index = next_++;
      changed_.wait(lock, [&] { return stopping_ || index < freed_ + buffers_.size(); });
      if (stopping_) return;
      lock.unlock();
      std::memcpy(buffers_[index % buffers_.size()].mutable_data_ptr(), parts_[index].data(),
                  parts_[index].size());
      lock.lock();
      filled_[index] = true;
      changed_.notify_all();
    }
  }

  const std::vector<Part>& parts_;
  std::vector<at::Tensor> buffers_;
  std::mutex mutex_;
  std::condition_variable changed_;
  size_t next_ = 0, freed_ = 0;
  std::vector<bool> filled_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace

void ReadAhead(const std::vector<Part>& parts, at::Device device,
               const std::function<void(size_t index, const at::Tensor& bytes)>& consume) {
  for (const Part part : parts)
    CHECK(part.size() <= static_cast<size_t>(kReadAheadBytes)) << part.size() << " bytes";
  if (!device.is_cuda()) {
    for (size_t i = 0; i < parts.size(); ++i) consume(i, Mapped(parts[i]));
    return;
  }
  Ring ring(parts);
  std::deque<StreamMark> under_way;  // the device's copies, oldest first
  for (size_t i = 0; i < parts.size(); ++i) {
    const at::Tensor bytes = at::empty({static_cast<int64_t>(parts[i].size())},
                                       at::TensorOptions().dtype(at::kByte).device(device));
    bytes.copy_(ring.Take(i), /*non_blocking=*/true);
    under_way.emplace_back(device);
    consume(i, bytes);
    if (under_way.size() <= kReadAheadBuffers / 2) continue;
    under_way.front().Wait();
    under_way.pop_front();
    ring.Free(i + 1 - under_way.size());
  }
  for (const StreamMark& mark : under_way) mark.Wait();
}

}  // namespace trainctl::train
