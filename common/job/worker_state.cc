#include "common/job/worker_state.h"

namespace trainctl::job {

std::string_view Name(WorkerState state) {
  using enum WorkerState;
  switch (state) {
    case kReady: return "READY";
    case kBusy: return "BUSY";
    case kLost: return "LOST";
    case kBad: return "BAD";
    case kSuspect: return "SUSPECT";
    case kDirty: return "DIRTY";
    case kDrained: return "DRAINED";
    case kLeased: return "LEASED";
  }
  return "";
}

std::optional<WorkerState> ParseWorkerState(std::string_view name) {
  for (const WorkerState state : kWorkerStates) {
    if (Name(state) == name) return state;
  }
  return std::nullopt;
}

}  // namespace trainctl::job
