// The coordinator's loop on the simulation's clock: it runs when it is told to.
#pragma once

#include <deque>
#include <functional>
#include <list>

#include "common/base/clock.h"
#include "server/coordinator/loop.h"

namespace trainctl::core {

// What it says is set, by whoever lets time go on, or jump.
class SimClock : public base::Clock {
 public:
  base::WallMicros Wall() const override { return wall; }
  base::SteadyMicros Steady() const override { return steady; }

  base::WallMicros wall = 1'000'000'000'000;
  base::SteadyMicros steady = 1'000'000'000;
};

class SimLoop : public coordinator::Loop {
 public:
  explicit SimLoop(const base::Clock& clock) : clock_(clock) {}

  void Post(std::function<void()> work) override { posted_.push_back(std::move(work)); }
  void Every(std::chrono::milliseconds period, std::function<void()> work) override;

  // Runs what is due by now, and all that is posted.
  void Run();
  // Nothing that was posted waits.
  bool is_idle() const { return posted_.empty(); }

 private:
  struct Periodic {
    int64_t period_us = 0;
    base::SteadyMicros due = 0;
    std::function<void()> work;
  };
  // At whole periods of the clock.
  void SetNext(Periodic& periodic) const;
  void RunPosted();

  const base::Clock& clock_;
  std::deque<std::function<void()>> posted_;
  std::list<Periodic> periodic_;
};

}  // namespace trainctl::core
