// Host memory on the way from the device to the disk: buffers that the training thread fills and a
// writer empties. They are pinned if the state is on a GPU, and reused. Bounded: at the bound the
// training thread waits for the writer to give a buffer back. So a state larger than the host can
// hold twice is still written, only with less overlap. Thread-safe for one producer and one
// consumer.
#pragma once

#include <ATen/core/Tensor.h>

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "worker/rank/process/stream_mark.h"

namespace trainctl::train {

// The first `bytes` of a buffer, valid once `ready` has been waited for.
struct StagedBytes {
  at::Tensor buffer;
  int64_t bytes = 0;
  StreamMark ready;
};

class Staging {
 public:
  // A thread of its own makes the buffers, ahead of the first Take. It makes the first two in any
  // case. It makes more, up to most_buffers, while the host keeps half of the memory that it can
  // give now.
  Staging(at::Device device, int64_t buffer_bytes, int64_t most_buffers);
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  int64_t buffer_bytes() const { return buffer_bytes_; }

  // Producer. Take waits at the bound; it throws what kept the first buffers from being made. After
  // Close comes no more until the consumer has seen the end.
  at::Tensor Take();
  void Push(StagedBytes filled);
  void Close();

  // Consumer. nullopt: closed and empty; the next stream may begin.
  std::optional<StagedBytes> Pop();
  void GiveBack(at::Tensor buffer);

 private:
  void MakeBuffers();
  void MakeAsManyAsTheHostSpares();
  at::Tensor MakeBuffer() const;

  const at::Device device_;
  const int64_t buffer_bytes_;
  const int64_t most_buffers_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<at::Tensor> free_;
  std::deque<StagedBytes> filled_;
  bool closed_ = false;
  bool ends_ = false;
  std::exception_ptr no_buffers_;
  std::thread maker_;
};

}  // namespace trainctl::train
