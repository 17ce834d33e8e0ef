#include "common/job/outcome.h"

#include <array>

namespace trainctl::job {
namespace {

// In the order of the enum.
constexpr std::array<std::string_view, 5> kStateNames = {"QUEUED", "STARTING", "RUNNING",
                                                         "STOPPING", "FINISHED"};
constexpr std::array<std::string_view, 14> kOutcomeNames = {
    "SUCCEEDED", "FAILED",    "OOM_GPU", "OOM_HOST",    "DIVERGED",  "HANG",      "NCCL_ERROR",
    "GPU_FAULT", "NODE_LOST", "TIMEOUT", "LEASE_ENDED", "PREEMPTED", "CANCELLED", "LAUNCH_FAILED"};
constexpr std::array<std::string_view, 4> kPhaseNames = {"before_forward", "after_forward",
                                                         "after_backward", "after_optimizer_step"};

static_assert(kStateNames.size() == static_cast<size_t>(JobState::kFinished) + 1);
static_assert(kOutcomeNames.size() == static_cast<size_t>(Outcome::kLaunchFailed) + 1);
static_assert(kPhaseNames.size() == static_cast<size_t>(Phase::kAfterOptimizerStep) + 1);

template <class Enum, size_t count>
std::optional<Enum> Parse(const std::array<std::string_view, count>& names, std::string_view name) {
  for (size_t i = 0; i < count; ++i) {
    if (names[i] == name) return static_cast<Enum>(i);
  }
  return std::nullopt;
}

}  // namespace

std::string_view Name(JobState state) { return kStateNames.at(static_cast<size_t>(state)); }
std::string_view Name(Outcome outcome) { return kOutcomeNames.at(static_cast<size_t>(outcome)); }
std::string_view Name(Phase phase) { return kPhaseNames.at(static_cast<size_t>(phase)); }

std::optional<JobState> ParseJobState(std::string_view name) {
  return Parse<JobState>(kStateNames, name);
}
std::optional<Outcome> ParseOutcome(std::string_view name) {
  return Parse<Outcome>(kOutcomeNames, name);
}
std::optional<Phase> ParsePhase(std::string_view name) { return Parse<Phase>(kPhaseNames, name); }

bool IsOutOfMemory(std::optional<Outcome> outcome) {
  return outcome == Outcome::kOomGpu || outcome == Outcome::kOomHost;
}

}  // namespace trainctl::job
