#include "server/core/step.h"

#include "server/core/bounded_groups.h"
#include "server/core/dependencies.h"
#include "server/core/fair_share.h"
#include "server/core/handlers.h"

namespace trainctl::core {

Actions Step(State& state, const Event& event, const Now& now) {
  return StepWith(state, event, now, Schedule);
}

Actions StepWith(State& state, const Event& event, const Now& now, void (*schedule)(Turn&)) {
  Turn turn{.state = state, .now = now};
  std::visit([&](const auto& value) { Handle(turn, value); }, event);
  TellFollowers(turn);
  AdmitFromGroups(turn);
  if (turn.placement_may_change) {
    LiftWhoStarves(state);
    do schedule(turn);
    while (LiftWhoStarves(state));  // whom it placed starves no more
  }
  for (const base::JobId job : turn.changed) turn.Perform(JobChanged{job});
  return std::move(turn.actions);
}

}  // namespace trainctl::core
