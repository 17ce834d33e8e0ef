#include "common/job/worker_state.h"

#include <array>

namespace trainctl::job {
namespace {

using enum WorkerState;

constexpr std::array kWorkerStates = {kReady,   kBusy,  kLost,    kBad,
                                      kSuspect, kDirty, kDrained, kLeased};

}  // namespace

std::string_view Name(WorkerState state) {
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
