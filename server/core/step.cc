#include "server/core/step.h"

#include "server/core/bounded_groups.h"
#include "server/core/dependencies.h"
#include "server/core/handlers.h"

namespace trainctl::core {

Actions Step(State& state, const Event& event, const Now& now) {
  Turn turn{.state = state, .now = now};
  std::visit([&](const auto& value) { Handle(turn, value); }, event);
  TellFollowers(turn);
  AdmitFromGroups(turn);
  if (turn.placement_may_change) Schedule(turn);
  for (const base::JobId job : turn.changed) turn.Perform(JobChanged{job});
  return std::move(turn.actions);
}

}  // namespace trainctl::core
