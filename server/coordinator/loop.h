// Where the coordinator's work runs, one piece after the other. EventLoop is a thread that does so;
// the simulation of tests/server has one that goes by a fake clock.
#pragma once

#include <chrono>
#include <functional>

namespace trainctl::coordinator {

class Loop {
 public:
  virtual ~Loop() = default;

  // Work of one thread runs in the order posted.
  virtual void Post(std::function<void()> work) = 0;

  // Runs work again and again, a period after its last end. Before the loop runs or from its own
  // work only.
  virtual void Every(std::chrono::milliseconds period, std::function<void()> work) = 0;
};

}  // namespace trainctl::coordinator
