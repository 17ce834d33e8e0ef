// One NCCL communicator, which can be ended from another thread whatever state it is in.
//
// The communicator is blocking: a call returns when NCCL has put its work on the stream. In the
// non-blocking mode NCCL 2.28 starts a thread for each collective, and each must be polled for. A
// call may wait for a peer that never comes: at the join, and where a collective first connects to
// it. Therefore the join runs on a thread that may be given up. A thread of the group aborts the
// communicator when another call outlasts the timeout: then the call returns.
//
// ncclCommAbort itself has been seen to hang, so it runs on a thread of its own. If it does not
// return in time, that thread is left behind with the communicator. The end of the process then
// frees the GPU (the shim does it).
//
// NCCL reads its NCCL_* settings from the rank's environment; nothing is added to them here. The
// worker adds NCCL_SOCKET_IFNAME for its data interface (worker/agent/data_interface.h).
#pragma once

#include <nccl.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "worker/rank/comm/join_options.h"

namespace trainctl::comm {

// Set once, awaited under a deadline, by threads of which one may never end. Thread-safe.
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

class NcclGroup {
 public:
  // Joins on the given device, which is current. Throws CommError naming what was waited for.
  NcclGroup(const JoinOptions& options, const ncclUniqueId& id, int device);
  // Ends the communicator after what was issued is done, or aborts it where that takes longer than
  // a few seconds.
  ~NcclGroup();
  NcclGroup(const NcclGroup&) = delete;

  // Calls operation with the communicator. NCCL has then enqueued all of it on the stream (which
  // is not done with it). Throws CommError, within seconds of the timeout where a peer never comes.
  void Enqueue(const char* name, const std::function<ncclResult_t(ncclComm_t)>& operation);
  // Throws where NCCL has met an error in the background.
  void CheckHealth();
  // From any thread; returns within five seconds.
  void Abort() noexcept;

 private:
  using Clock = std::chrono::steady_clock;

  // What an abort that hangs takes with it: outlives the group while the thread does.
  struct State {
    std::timed_mutex mutex;  // around each call of NCCL with comm
    ncclComm_t comm = nullptr;
    std::atomic<bool> aborted = false;
    std::atomic<Clock::time_point> call_ends_by = Clock::time_point::max();  // max: no call
    int device = 0;
  };

  static void AbortNow(const std::shared_ptr<State>& state);
  void Join(const JoinOptions& options, const ncclUniqueId& id);
  void Watch();
  std::unique_lock<std::timed_mutex> Enter();
  [[noreturn]] void Fail(const std::string& what, ncclResult_t result);

  const std::shared_ptr<State> state_ = std::make_shared<State>();
  const int64_t rank_;
  const Clock::duration timeout_;
  Latch ending_;
  std::thread watch_;
};

}  // namespace trainctl::comm
