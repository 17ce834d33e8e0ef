#include "worker/rank/process/stream_mark.h"

namespace trainctl::train {

StreamMark::StreamMark(at::Device device) : time_(std::chrono::steady_clock::now()) {
  if (!device.is_cuda()) return;
  event_.emplace(cudaEventDefault);
  event_->record();
}

void StreamMark::Wait() const {
  if (event_) event_->synchronize();
}

double StreamMark::SecondsSince(const StreamMark& earlier) const {
  if (event_) return earlier.event_->elapsed_time(*event_) / 1e3;
  return std::chrono::duration<double>(time_ - earlier.time_).count();
}

}  // namespace trainctl::train
