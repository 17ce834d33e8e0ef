// States of jobs and outcomes of attempts. Names() below are what people, the store and the API
// see.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace trainctl::job {

enum class JobState { kQueued, kStarting, kRunning, kStopping, kFinished };

enum class Outcome {
  kSucceeded,
  kFailed,
  kOomGpu,
  kOomHost,
  kDiverged,  // the loss, or the gradient's norm, is not a number any more
  kHang,
  kNcclError,
  kGpuFault,
  kNodeLost,
  kTimeout,
  kLeaseEnded,
  kPreempted,
  kCancelled,
  kLaunchFailed
};

// The four phases of a step at which memory is measured, in order. The first three are those of its
// last micro step, where the gradients of those before it are held.
enum class Phase { kBeforeForward, kAfterForward, kAfterBackward, kAfterOptimizerStep };

// Bytes of one rank. other = max(0, allocated − params − grads − optimizer) (on CPU slots −
// optimizer_cpu too).
struct MemoryByKind {
  int64_t params = 0;         // masters and compute copies included
  int64_t grads = 0;          //
  int64_t optimizer = 0;      // on the device
  int64_t optimizer_cpu = 0;  // in host memory
  int64_t other = 0;          // activations, logits, workspaces
  int64_t allocated = 0;
  int64_t peak_allocated = 0;
  int64_t reserved = 0;
};

// What a rank is at, as an error tells it.
enum class Work {
  kLoading,
  kJoining,
  kForward,
  kBackward,
  kOptimizerStep,
  kEvaluation,
  kCheckpoint,
  kSaving
};

// When memory was refused.
struct OomPhase {
  Work work = Work::kLoading;
  bool in_trial = false;  // of the micro batch

  bool operator==(const OomPhase&) const = default;
};

struct OomDetail {
  int64_t rank = 0;
  OomPhase phase;
  int64_t requested_bytes = 0;  //
  int64_t limit_bytes = 0;      // the enforced limit, or the device's size
  MemoryByKind memory;          // held when the request was refused
};

// The immutable end of an attempt.
struct AttemptEnd {
  Outcome outcome = Outcome::kFailed;
  std::string message;          // one sentence for people
  std::optional<int64_t> rank;  // that caused it
  std::optional<int64_t> exit_code;
  std::optional<int64_t> signal;
  std::optional<OomDetail> oom;
  std::string last_log_lines;
};

std::string_view Name(JobState state);                     // "QUEUED"
std::string_view Name(Outcome outcome);                    // "OOM_GPU"
std::string_view Name(Phase phase);                        // "before_forward"
std::string_view Name(const std::optional<Phase>& phase);  // of none empty
std::string Name(OomPhase phase);  // "optimizer_step"; of a trial "trial optimizer_step"
std::optional<JobState> ParseJobState(std::string_view name);
std::optional<Outcome> ParseOutcome(std::string_view name);
std::optional<Phase> ParsePhase(std::string_view name);
std::optional<OomPhase> ParseOomPhase(std::string_view name);

// Of the device or of its host.
bool IsOutOfMemory(std::optional<Outcome> outcome);

enum class Expect;  // job.h
bool IsAsExpected(Outcome outcome, Expect expect);

}  // namespace trainctl::job
