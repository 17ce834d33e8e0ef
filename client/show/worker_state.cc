#include "client/show/worker_state.h"

#include <optional>

#include "client/show/decoded.h"

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

void WorkerCounts::Add(const v1::WorkerView& worker) {
  ++devices;
  drained += worker.has_drain();
  slow += worker.has_slowness();
  const std::optional<job::WorkerState> state = StateOf(worker);
  if (!state) return;
  switch (*state) {
    case job::WorkerState::kBusy: ++busy; break;
    case job::WorkerState::kLost: ++lost; break;
    case job::WorkerState::kBad: ++bad; break;
    case job::WorkerState::kSuspect: ++suspect; break;
    case job::WorkerState::kDirty: ++dirty; break;
    case job::WorkerState::kReady:
    case job::WorkerState::kDrained:
    case job::WorkerState::kLeased: break;
  }
}

std::string WorkerCounts::TroubleText(std::string_view not_free) const {
  std::string text;
  const auto add = [&text](int count, std::string_view word) {
    if (count > 0) text.append(", ").append(std::to_string(count)).append(" ").append(word);
  };
  add(lost, "lost");
  add(bad, "bad");
  add(suspect, "suspect");
  add(slow, "slow");
  add(dirty, not_free);
  add(drained, "drained");
  return text;
}

}  // namespace trainctl::client
