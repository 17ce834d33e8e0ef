#include "server/core/step.h"

#include "server/core/bounded_groups.h"
#include "server/core/dependencies.h"
#include "server/core/fair_share.h"
#include "server/core/handlers.h"
#include "server/core/reason_history.h"

namespace trainctl::core {

Actions Step(State& state, const Event& event, const Now& now) {
  return StepWith(state, event, now, Schedule);
}

Actions StepWith(State& state, const Event& event, const Now& now, void (*schedule)(Turn&)) {
  Turn turn{.state = state, .now = now};
  ++state.steps;
  std::visit([&](const auto& value) { Handle(turn, value); }, event);
  TellFollowers(turn);
  AdmitFromGroups(turn);
  if (turn.placement_may_change) {
    LiftWhoStarves(state);
    // Whom it placed starves no more. Who held devices may wait for its owner's quota now: then
    // others have those, and need take none of jobs that give way.
    bool is_other = false;
    do {
      turn.took_quota = turn.is_put_off = false;
      schedule(turn);
      is_other = LiftWhoStarves(state) || turn.took_quota;
      turn.may_preempt = !is_other;
    } while (is_other || turn.is_put_off);
  }
  NoteReasons(turn);
  for (const base::JobId job : turn.changed) turn.Perform(JobChanged{job});
  return std::move(turn.actions);
}

}  // namespace trainctl::core
