// The one thread that owns the coordinator's state. Everything else only posts to it. Boost.Asio
// ends here.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <thread>

#include "server/coordinator/loop.h"

namespace trainctl::coordinator {

class EventLoop : public Loop {
 public:
  EventLoop();
  ~EventLoop() override;  // stops
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  // Starts the thread. Work posted earlier runs first.
  void Start();

  // Any thread, the loop's own too. Work of one thread runs in the order posted; what is posted
  // after Stop is dropped.
  void Post(std::function<void()> work) override;

  // As Post; on the loop's own thread the work runs at once, so before all that others post later.
  void Dispatch(std::function<void()> work);

  // Runs work again and again, a period after its last end. Before Start or on the loop's thread
  // only.
  void Every(std::chrono::milliseconds period, std::function<void()> work) override;

  // Runs work on the loop's thread and waits for its end. Not on the loop's thread. False where the
  // loop is not running: nothing ran.
  bool Call(std::function<void()> work);

  // Runs what was posted before, then ends the thread and waits for it. Not on the loop's thread.
  // Idempotent.
  void Stop();

 private:
  struct Asio;
  struct Periodic;
  void Arm(Periodic* periodic);

  std::unique_ptr<Asio> asio_;
  std::thread thread_;
};

}  // namespace trainctl::coordinator
