#include "worker/rank/train/outcome_of.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <cstdio>
#include <string>

#include "common/base/size.h"
#include "worker/rank/comm/comm_error.h"
#include "worker/rank/optim/host_memory.h"
#include "worker/rank/process/run_failure.h"
#include "worker/rank/train/memory_meter.h"

namespace trainctl::train {
namespace {

// Of a strategy that is still being made: what came before the optimizer's state are weights.
job::MemoryByKind HeldInTheMaking(const RunState& state, int64_t allocated) {
  if (!state.before_weights) return {};
  const int64_t weights_end = state.before_optimizer.value_or(allocated);
  return {.params = std::max<int64_t>(0, weights_end - *state.before_weights),
          .optimizer = std::max<int64_t>(0, allocated - weights_end)};
}

// At the refusal: the error's unwinding has freed activations since, but nothing of the strategy's.
job::MemoryByKind HeldAtRefusal(const FailedRun& run) {
  const int64_t allocated = run.device->LastRefusal().allocated_bytes;
  return AllKinds(
      run.state.strategy ? run.state.strategy->Held() : HeldInTheMaking(run.state, allocated),
      allocated, *run.device);
}

job::OomDetail DescribeOom(const FailedRun& run) {
  job::OomDetail detail{.rank = run.rank, .phase = run.state.phase};
  if (run.device == nullptr) return detail;
  detail.requested_bytes = run.device->LastRefusal().requested_bytes;
  detail.limit_bytes = run.device->limit_bytes();
  detail.memory = HeldAtRefusal(run);
  return detail;
}

// "out of device memory in backward: 0.17 GiB asked for with 9.18 GiB allocated, limit 9.31 GiB"
std::string OomMessage(const job::OomDetail& detail) {
  std::string message = "out of device memory in " + job::Name(detail.phase) + ": " +
                        base::FormatBytes(detail.requested_bytes) + " asked for with " +
                        base::FormatBytes(detail.memory.allocated) + " allocated";
  if (detail.limit_bytes > 0) message += ", limit " + base::FormatBytes(detail.limit_bytes);
  return message;
}

job::RankOutcome OutOfDeviceMemory(const c10::Error& error, const FailedRun& run) {
  const job::OomDetail detail = DescribeOom(run);
  std::fprintf(stderr, "%s\n", error.what_without_backtrace());
  return {.outcome = job::Outcome::kOomGpu, .message = OomMessage(detail), .oom = detail};
}

// Libraries take memory of the device beside the allocator: cuBLAS for a handle, CUDA for a kernel.
bool SaysOutOfMemory(const std::string& message) {
  return message.find("CUDA error: out of memory") != std::string::npos ||
         message.find("CUBLAS_STATUS_ALLOC_FAILED") != std::string::npos;
}

job::RankOutcome LibTorchError(const c10::Error& error, const FailedRun& run) {
  const std::string message = error.what_without_backtrace();
  if (SaysOutOfMemory(message)) return OutOfDeviceMemory(error, run);
  const bool fault = message.find("CUDA error") != std::string::npos;
  return {.outcome = fault ? job::Outcome::kGpuFault : job::Outcome::kFailed,
          .message = message.substr(0, message.find('\n'))};
}

}  // namespace

job::RankOutcome OutcomeOf(const std::exception_ptr& error, const FailedRun& run) {
  try {
    std::rethrow_exception(error);
  } catch (const RunFailure& failure) {
    return {.outcome = job::Outcome::kFailed, .message = failure.message};
  } catch (const c10::OutOfMemoryError& out_of_memory) {
    return OutOfDeviceMemory(out_of_memory, run);
  } catch (const optim::HostMemoryError& out_of_memory) {
    return {.outcome = job::Outcome::kOomHost, .message = out_of_memory.what()};
  } catch (const comm::CommError& failed) {
    return {.outcome = job::Outcome::kNcclError, .message = failed.what()};
  } catch (const c10::Error& failed) {
    return LibTorchError(failed, run);
  } catch (const std::exception& failed) {
    return {.outcome = job::Outcome::kFailed, .message = failed.what()};
  }
}

}  // namespace trainctl::train
