// Set once, awaited under a deadline, by threads of which one may never end. Thread-safe.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace trainctl::comm {

class Latch {
 public:
  void Set() {
    const std::lock_guard lock(mutex_);
    is_set_ = true;
    changed_.notify_all();
  }
  // Blocks until it is set, or for `timeout`. Returns whether it is set.
  bool WaitFor(std::chrono::steady_clock::duration timeout) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, timeout, [this] { return is_set_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_set_ = false;
};

}  // namespace trainctl::comm
