#include "worker/rank/comm/nccl_group.h"

#include <cuda_runtime_api.h>

#include <condition_variable>
#include <string>
#include <thread>

#include "worker/rank/comm/comm_error.h"

namespace trainctl::comm {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::milliseconds kPollInterval{1};
constexpr std::chrono::seconds kFinalizeTimeout{10};
constexpr std::chrono::seconds kAbortTimeout{5};
// How long an abort waits for another thread to leave NCCL before it calls in all the same.
constexpr std::chrono::seconds kMutexTimeout{1};

steady_clock::time_point After(std::chrono::duration<double> timeout) {
  return steady_clock::now() + std::chrono::duration_cast<steady_clock::duration>(timeout);
}

// Set once, awaited under a deadline, by threads of which one may never end.
class Latch {
 public:
  void Set() {
    const std::lock_guard lock(mutex_);
    is_set_ = true;
    changed_.notify_all();
  }
  void WaitFor(std::chrono::seconds timeout) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, timeout, [this] { return is_set_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_set_ = false;
};

}  // namespace

NcclGroup::NcclGroup(const JoinOptions& options, const ncclUniqueId& id, int device)
    : rank_(options.rank), timeout_(options.timeout_seconds) {
  state_->device = device;
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  const ncclResult_t started =
      ncclCommInitRankConfig(&state_->comm, static_cast<int>(options.world_size), id,
                             static_cast<int>(options.rank), &config);
  const ncclResult_t result = started == ncclInProgress || started == ncclSuccess
                                  ? AwaitCompletion(After(timeout_))
                                  : started;
  if (result != ncclSuccess) {
    const std::string waited = "joining the NCCL group as rank " + std::to_string(options.rank) +
                               " of " + std::to_string(options.world_size) + " on CUDA device " +
                               std::to_string(device);
    const std::string late =
        ": not all ranks came within " + std::to_string(options.timeout_seconds) + " s";
    Fail(result == ncclInProgress ? waited + late : waited, result);
  }
}

NcclGroup::~NcclGroup() {
  if (state_->aborted) {
    return;
  }
  ncclResult_t result = ncclInvalidUsage;
  if (const auto lock = Enter()) {
    result = ncclCommFinalize(state_->comm);
  }
  if (result == ncclInProgress || result == ncclSuccess) {
    result = AwaitCompletion(steady_clock::now() + kFinalizeTimeout);
  }
  if (result != ncclSuccess) {
    Abort();
    return;
  }
  ncclCommDestroy(state_->comm);
}

void NcclGroup::Enqueue(const char* name,
                        const std::function<ncclResult_t(ncclComm_t)>& operation) {
  ncclResult_t result = ncclInvalidUsage;
  if (const auto lock = Enter()) {
    result = operation(state_->comm);
  }
  if (result == ncclInProgress) {
    result = AwaitCompletion(After(timeout_));
  }
  if (result != ncclSuccess) {
    Fail(std::string(name) + " on rank " + std::to_string(rank_), result);
  }
}

void NcclGroup::CheckHealth() {
  ncclResult_t asynchronous = ncclInvalidUsage;
  if (const auto lock = Enter()) {
    ncclCommGetAsyncError(state_->comm, &asynchronous);
  }
  if (asynchronous != ncclSuccess && asynchronous != ncclInProgress) {
    Fail("a collective failed in the background on rank " + std::to_string(rank_), asynchronous);
  }
}

void NcclGroup::Abort() noexcept {
  if (state_->aborted.exchange(true)) {
    return;
  }
  try {
    auto done = std::make_shared<Latch>();
    std::thread([state = state_, done] {
      AbortNow(state);
      done->Set();
    }).detach();
    done->WaitFor(kAbortTimeout);
  } catch (const std::exception&) {
    // No memory or thread left for it: the process's end aborts.
  }
}

// The right to call NCCL, or a lock that owns nothing where the group is aborted: whoever waits
// must not wait for an abort that hangs.
std::unique_lock<std::timed_mutex> NcclGroup::Enter() {
  std::unique_lock lock(state_->mutex, std::defer_lock);
  while (!state_->aborted && !lock.try_lock_for(kPollInterval)) {
  }
  if (state_->aborted && lock.owns_lock()) {
    lock.unlock();
  }
  return lock;
}

void NcclGroup::AbortNow(const std::shared_ptr<State>& state) {
  cudaSetDevice(state->device);
  const std::unique_lock lock(state->mutex, kMutexTimeout);
  if (state->comm != nullptr) {
    ncclCommAbort(state->comm);
  }
}

// ncclInProgress: not done at the deadline. Between two questions the mutex is free, so that an
// abort gets in.
ncclResult_t NcclGroup::AwaitCompletion(steady_clock::time_point deadline) {
  for (;;) {
    ncclResult_t state = ncclInvalidUsage;
    if (const auto lock = Enter()) {
      const ncclResult_t asked = ncclCommGetAsyncError(state_->comm, &state);
      state = asked == ncclSuccess ? state : asked;
    }
    if (state != ncclInProgress || steady_clock::now() >= deadline) {
      return state;
    }
    std::this_thread::sleep_for(kPollInterval);
  }
}

void NcclGroup::Fail(const std::string& what, ncclResult_t result) {
  if (state_->aborted) {
    throw CommError(what + ": the group was aborted, or failed before");
  }
  const std::string message = what + ": NCCL says '" + ncclGetErrorString(result) + "', last '" +
                              ncclGetLastError(nullptr) + "'";
  Abort();
  throw CommError(message);
}

}  // namespace trainctl::comm
