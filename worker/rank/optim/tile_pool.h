// Threads that share out loops over large arrays in tiles. Work is done in the order in which it
// was submitted. A thread that finds none left of one goes on with the next. So nobody waits at the
// border of two. Thread-safe.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace trainctl::optim {

class TilePool {
 public:
  // Called from several threads at once with ranges [begin, end); must not throw.
  using Body = std::function<void(int64_t begin, int64_t end)>;
  class Work;
  using Ticket = std::shared_ptr<Work>;

  static constexpr int64_t kTile = 32 * 1024;  // begins are multiples of it

  // threads ≥ 1. They run on the CPUs of the thread that makes them.
  explicit TilePool(int64_t threads);
  // Everything submitted is done first.
  ~TilePool();

  Ticket Submit(int64_t count, Body body);
  void Wait(const Ticket& ticket);

 private:
  void Run();

  std::mutex mutex_;
  std::condition_variable has_work_, has_done_;
  std::deque<Ticket> queue_;  // with tiles that nobody has taken yet
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace trainctl::optim
