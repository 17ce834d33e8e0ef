#include "worker/rank/process/wait_meter.h"

#include <c10/util/Exception.h>

#include <utility>

namespace trainctl::train {

void WaitMeter::Begin() {
  runs_ = true;
  waits_.clear();
}

WaitMeter::Waits WaitMeter::End() {
  runs_ = false;
  return std::exchange(waits_, {});
}

WaitMeter::Span::Span(WaitMeter& meter) : meter_(meter) {
  if (meter_.runs_) begin_.emplace(meter_.device_);
}

// A device that is at fault fails the next call that asks it: this one may unwind from that.
WaitMeter::Span::~Span() {
  if (!begin_ || !meter_.runs_) return;
  try {
    meter_.waits_.push_back({std::move(*begin_), StreamMark(meter_.device_)});
  } catch (const c10::Error&) {
    meter_.runs_ = false;
  }
}

double TotalSeconds(const WaitMeter::Waits& waits) {
  double seconds = 0;
  for (const WaitMeter::Wait& wait : waits) seconds += wait.end.SecondsSince(wait.begin);
  return seconds;
}

}  // namespace trainctl::train
