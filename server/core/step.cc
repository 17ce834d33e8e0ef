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
    // Whom it placed starves no more. Who held devices may wait for its owner's quota now.
    do {
      turn.took_quota = false;
      schedule(turn);
    } while (LiftWhoStarves(state) || turn.took_quota);
  }
  for (const base::JobId job : turn.changed) turn.Perform(JobChanged{job});
  return std::move(turn.actions);
}

}  // namespace trainctl::core
