#include "client/show/worker_state.h"

#include <optional>

#include "common/job/worker_state.h"

namespace trainctl::client {

Style StyleOfWorkerState(std::string_view state) {
  const std::optional<job::WorkerState> known = job::ParseWorkerState(state);
  if (!known) return Style::kBad;
  switch (*known) {
    case job::WorkerState::kReady: return Style::kGood;
    case job::WorkerState::kDrained:
    case job::WorkerState::kSuspect: return Style::kWarning;
    case job::WorkerState::kBusy:
    case job::WorkerState::kLeased: return Style::kPlain;
    case job::WorkerState::kLost:
    case job::WorkerState::kBad:
    case job::WorkerState::kDirty: return Style::kBad;
  }
  return Style::kBad;
}

}  // namespace trainctl::client
