#include "worker/rank/optim/tile_pool.h"

#include <algorithm>
#include <utility>

#include "common/base/check.h"

namespace trainctl::optim {

class TilePool::Work {
 public:
  Work(int64_t elements, Body work) : count(elements), body(std::move(work)) {}

  const int64_t count;
  const Body body;
  int64_t taken = 0;  // elements that threads have begun with
  int64_t done = 0;
};

TilePool::TilePool(int64_t threads) {
  CHECK(threads >= 1) << threads << " threads";
  for (int64_t i = 0; i < threads; ++i) threads_.emplace_back([this] { Run(); });
}

TilePool::~TilePool() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  has_work_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

TilePool::Ticket TilePool::Submit(int64_t count, Body body) {
  Ticket ticket = std::make_shared<Work>(count, std::move(body));
  if (count > 0) {
    {
      const std::lock_guard lock(mutex_);
      queue_.push_back(ticket);
    }
    has_work_.notify_all();
  }
  return ticket;
}

void TilePool::Wait(const Ticket& ticket) {
  std::unique_lock lock(mutex_);
  has_done_.wait(lock, [&] { return ticket->done == ticket->count; });
}

void TilePool::Run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    has_work_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
    if (queue_.empty()) return;
    const Ticket work = queue_.front();
    const int64_t begin = work->taken, end = std::min(begin + kTile, work->count);
    work->taken = end;
    if (end == work->count) queue_.pop_front();
    lock.unlock();
    work->body(begin, end);
    lock.lock();
    work->done += end - begin;
    if (work->done == work->count) has_done_.notify_all();
  }
}

}  // namespace trainctl::optim
