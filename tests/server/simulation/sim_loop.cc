#include "tests/server/simulation/sim_loop.h"

#include <utility>

namespace trainctl::core {

void SimLoop::Every(std::chrono::milliseconds period, std::function<void()> work) {
  const int64_t period_us = std::chrono::microseconds(period).count();
  periodic_.push_back({period_us, 0, std::move(work)});
  SetNext(periodic_.back());
}

void SimLoop::Run() {
  RunPosted();
  for (Periodic& periodic : periodic_) {
    if (periodic.due > clock_.Steady()) continue;
    SetNext(periodic);
    periodic.work();
    RunPosted();
  }
}

void SimLoop::SetNext(Periodic& periodic) const {
  periodic.due = (clock_.Steady() / periodic.period_us + 1) * periodic.period_us;
}

void SimLoop::RunPosted() {
  while (!posted_.empty()) {
    const std::function<void()> work = std::move(posted_.front());
    posted_.pop_front();
    work();
  }
}

}  // namespace trainctl::core
