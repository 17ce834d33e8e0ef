#include "worker/rank/comm/nccl_group.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <string>

#include "worker/rank/comm/comm_error.h"

namespace trainctl::comm {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::seconds kFinalizeTimeout{10};
constexpr std::chrono::seconds kAbortTimeout{5};
// However long the join may take: of a call after it.
constexpr std::chrono::minutes kMostCallTime{10};
// How long an abort waits for another thread to leave NCCL before it calls in all the same.
constexpr std::chrono::seconds kMutexTimeout{1};
constexpr std::chrono::milliseconds kEnterInterval{1};
constexpr steady_clock::duration kWatchInterval = std::chrono::seconds(1);

// Runs work on a thread that is left behind if it is not done in time. Returns whether it is done.
// Throws std::system_error if no thread can be had.
bool IsDoneWithin(steady_clock::duration timeout, std::function<void()> work) {
  auto done = std::make_shared<Latch>();
  std::thread([work = std::move(work), done] {
    work();
    done->Set();
  }).detach();
  return done->WaitFor(timeout);
}

steady_clock::duration JoinTime(const JoinOptions& options) {
  return std::chrono::duration_cast<steady_clock::duration>(
      std::chrono::duration<double>(options.timeout_seconds));
}

std::string Seconds(steady_clock::duration duration) {
  return std::to_string(std::chrono::duration<double>(duration).count()) + " s";
}

}  // namespace

NcclGroup::NcclGroup(const JoinOptions& options, const ncclUniqueId& id, int device)
    : rank_(options.rank), timeout_(std::min<Clock::duration>(JoinTime(options), kMostCallTime)) {
  state_->device = device;
  Join(options, id);
  watch_ = std::thread([this] { Watch(); });
}

void NcclGroup::Join(const JoinOptions& options, const ncclUniqueId& id) {
  auto result = std::make_shared<std::atomic<ncclResult_t>>(ncclInProgress);
  const Clock::duration timeout = JoinTime(options);
  const bool done = IsDoneWithin(
      timeout, [state = state_, result, id, ranks = static_cast<int>(options.world_size),
                rank = static_cast<int>(options.rank)] {
        cudaSetDevice(state->device);
        ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
        config.blocking = 1;
        ncclComm_t comm = nullptr;
        const ncclResult_t joined = ncclCommInitRankConfig(&comm, ranks, id, rank, &config);
        const std::lock_guard lock(state->mutex);
        state->comm = comm;
        *result = joined;  // whoever sees success finds the communicator
      });
  const ncclResult_t joined = *result;
  if (joined == ncclSuccess) return;
  const std::string waited = "joining the NCCL group as rank " + std::to_string(options.rank) +
                             " of " + std::to_string(options.world_size) + " on CUDA device " +
                             std::to_string(state_->device);
  Fail(done ? waited : waited + ": not all ranks came within " + Seconds(timeout), joined);
}

NcclGroup::~NcclGroup() {
  ending_.Set();
  watch_.join();
  if (state_->aborted) return;
  auto result = std::make_shared<std::atomic<ncclResult_t>>(ncclInProgress);
  try {
    IsDoneWithin(kFinalizeTimeout, [state = state_, result] {
      cudaSetDevice(state->device);
      const std::lock_guard lock(state->mutex);
      const ncclResult_t finalized = ncclCommFinalize(state->comm);
      *result = finalized == ncclSuccess ? ncclCommDestroy(state->comm) : finalized;
    });
  } catch (const std::exception&) {
    // No thread is left for it: aborted below.
  }
  if (*result != ncclSuccess) Abort();
}

void NcclGroup::Enqueue(const char* name,
                        const std::function<ncclResult_t(ncclComm_t)>& operation) {
  ncclResult_t result = ncclInvalidUsage;
  const Clock::time_point ends_by = Clock::now() + timeout_;
  if (const auto lock = Enter()) {
    state_->call_ends_by = ends_by;
    result = operation(state_->comm);
    state_->call_ends_by = Clock::time_point::max();
  }
  if (result == ncclSuccess) return;
  const std::string what = std::string(name) + " on rank " + std::to_string(rank_);
  Fail(Clock::now() < ends_by ? what : what + ": not all ranks came within " + Seconds(timeout_),
       result);
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
    IsDoneWithin(kAbortTimeout, [state = state_] { AbortNow(state); });
  } catch (const std::exception&) {
    // No memory or thread is left for it: the process's end aborts.
  }
}

// Ends a call that waits for a peer which never comes.
void NcclGroup::Watch() {
  while (!ending_.WaitFor(std::min(kWatchInterval, timeout_))) {
    if (Clock::now() >= state_->call_ends_by.load()) Abort();
  }
}

// The right to call NCCL, or a lock that owns nothing where the group is aborted: whoever waits
// must not wait for an abort that hangs.
std::unique_lock<std::timed_mutex> NcclGroup::Enter() {
  std::unique_lock lock(state_->mutex, std::defer_lock);
  while (!state_->aborted && !lock.try_lock_for(kEnterInterval)) {
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
