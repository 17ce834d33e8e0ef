#include "common/job/outcome.h"

#include <algorithm>
#include <array>

#include "common/job/job.h"

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

constexpr std::array kWorks = {Work::kLoading,    Work::kJoining,       Work::kForward,
                               Work::kBackward,   Work::kOptimizerStep, Work::kEvaluation,
                               Work::kCheckpoint, Work::kSaving};
constexpr std::string_view kTrialPrefix = "trial ";

std::string_view WorkName(Work work) {
  switch (work) {
    case Work::kLoading: return "loading";
    case Work::kJoining: return "joining";
    case Work::kForward: return "forward";
    case Work::kBackward: return "backward";
    case Work::kOptimizerStep: return "optimizer_step";
    case Work::kEvaluation: return "evaluation";
    case Work::kCheckpoint: return "checkpoint";
    case Work::kSaving: return "saving";
  }
  return "";
}

}  // namespace

std::string_view Name(JobState state) { return kStateNames.at(static_cast<size_t>(state)); }
std::string_view Name(Outcome outcome) { return kOutcomeNames.at(static_cast<size_t>(outcome)); }
std::string_view Name(Phase phase) { return kPhaseNames.at(static_cast<size_t>(phase)); }
std::string_view Name(const std::optional<Phase>& phase) { return phase ? Name(*phase) : ""; }

std::string Name(OomPhase phase) {
  return std::string(phase.in_trial ? kTrialPrefix : "").append(WorkName(phase.work));
}

std::optional<JobState> ParseJobState(std::string_view name) {
  return Parse<JobState>(kStateNames, name);
}
std::optional<Outcome> ParseOutcome(std::string_view name) {
  return Parse<Outcome>(kOutcomeNames, name);
}
std::optional<Phase> ParsePhase(std::string_view name) { return Parse<Phase>(kPhaseNames, name); }

std::optional<OomPhase> ParseOomPhase(std::string_view name) {
  const bool in_trial = name.starts_with(kTrialPrefix);
  if (in_trial) name.remove_prefix(kTrialPrefix.size());
  const auto found = std::ranges::find(kWorks, name, WorkName);
  return found == kWorks.end() ? std::nullopt : std::optional(OomPhase{*found, in_trial});
}

bool IsOutOfMemory(std::optional<Outcome> outcome) {
  return outcome == Outcome::kOomGpu || outcome == Outcome::kOomHost;
}

bool IsAsExpected(Outcome outcome, Expect expect) {
  return expect == Expect::kOom ? IsOutOfMemory(outcome) : outcome == Outcome::kSucceeded;
}

}  // namespace trainctl::job
