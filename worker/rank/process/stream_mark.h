// A point in the device's stream of work: recorded without waiting, waited for later, and timed
// against another. On CPU, where work is done when its call returns, a point in time.
#pragma once

#include <ATen/cuda/CUDAEvent.h>
#include <c10/core/Device.h>

#include <chrono>
#include <optional>

namespace trainctl::train {

class StreamMark {
 public:
  // Records the current stream's end.
  explicit StreamMark(at::Device device);

  void Wait() const;
  // Both have been waited for.
  double SecondsSince(const StreamMark& earlier) const;

 private:
  std::chrono::steady_clock::time_point time_;
  std::optional<at::cuda::CUDAEvent> event_;
};

}  // namespace trainctl::train
