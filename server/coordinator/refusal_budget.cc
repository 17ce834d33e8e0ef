#include "server/coordinator/refusal_budget.h"

#include <utility>

namespace trainctl::coordinator {

bool RefusalBudget::Take(const std::string& actor) { return ++calls_[actor] <= kMostOfActor; }

std::vector<RefusalBudget::Unrecorded> RefusalBudget::OnTick(base::SteadyMicros now) {
  if (now - begin_ < kPeriodMicros) return {};
  begin_ = now;
  std::vector<Unrecorded> unrecorded;
  for (const auto& [actor, calls] : std::exchange(calls_, {})) {
    if (calls > kMostOfActor) unrecorded.push_back({actor, calls - kMostOfActor});
  }
  return unrecorded;
}

}  // namespace trainctl::coordinator
