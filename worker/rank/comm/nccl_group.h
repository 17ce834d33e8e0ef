// One NCCL communicator whose calls never block for longer than a deadline, and which can be ended
// from another thread whatever state it is in.
//
// NCCL is used in its non-blocking mode (ncclCommInitRankConfig, blocking = 0): a call that is not
// done returns ncclInProgress, and ncclCommGetAsyncError is asked until it is. ncclCommAbort itself
// has been seen to hang, so it runs in a thread of its own; when it does not return in time that
// thread is left behind with the communicator, and ending the process is what frees the GPU (the
// shim does it).
//
// NCCL reads its NCCL_* settings from the rank's environment; nothing is added to them here.
#pragma once

#include <nccl.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>

#include "worker/rank/comm/join_options.h"

namespace trainctl::comm {

class NcclGroup {
 public:
  // Joins on the given device, which is current. Throws CommError naming what was waited for.
  NcclGroup(const JoinOptions& options, const ncclUniqueId& id, int device);
  // Ends the communicator after what was issued is done, or aborts it where that takes longer than
  // a few seconds.
  ~NcclGroup();
  NcclGroup(const NcclGroup&) = delete;

  // Calls operation with the communicator and waits until NCCL has enqueued all of it on the stream
  // (not until the stream is done).
  void Enqueue(const char* name, const std::function<ncclResult_t(ncclComm_t)>& operation);
  // Throws where NCCL has met an error in the background.
  void CheckHealth();
  // From any thread; returns within five seconds.
  void Abort() noexcept;

 private:
  // What an abort that hangs takes with it: outlives the group while the thread does.
  struct State {
    std::timed_mutex mutex;  // around each call of NCCL with comm
    ncclComm_t comm = nullptr;
    std::atomic<bool> aborted = false;
    int device = 0;
  };

  static void AbortNow(const std::shared_ptr<State>& state);
  std::unique_lock<std::timed_mutex> Enter();
  ncclResult_t AwaitCompletion(std::chrono::steady_clock::time_point deadline);
  [[noreturn]] void Fail(const std::string& what, ncclResult_t result);

  const std::shared_ptr<State> state_ = std::make_shared<State>();
  const int64_t rank_;
  const std::chrono::duration<double> timeout_;
};

}  // namespace trainctl::comm
