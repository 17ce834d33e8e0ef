#include "server/core/quota_timeline.h"

#include <iterator>
#include <limits>

#include "server/core/quota.h"

namespace trainctl::core {

using base::SteadyMicros;

QuotaTimeline::QuotaTimeline(const State& state, const std::string& user)
    : quota_(state.options.policy.Of(user).max_running_devices.value()),
      changes_{{std::numeric_limits<SteadyMicros>::min(), HeldBy(state, user)}} {
  const auto held = state.held.find(user);
  if (held == state.held.end()) return;
  for (const auto& [end, devices] : held->second.coming) changes_[end] -= devices;
}

std::optional<SteadyMicros> QuotaTimeline::RoomFrom(int64_t devices, SteadyMicros from,
                                                    std::optional<int64_t> length) const {
  SteadyMicros at = from;
  int64_t held = 0;
  for (auto change = changes_.begin(); change != changes_.end(); ++change) {
    if (length && change->first >= at + *length) return at;
    held += change->second;
    const auto next = std::next(change);
    const bool is_over = next != changes_.end() && next->first <= at;
    if (is_over || held + devices <= quota_) continue;
    if (next == changes_.end()) return std::nullopt;
    at = next->first;
  }
  return at;
}

void QuotaTimeline::Take(int64_t devices, SteadyMicros from, std::optional<int64_t> length) {
  changes_[from] += devices;
  if (length) changes_[from + *length] -= devices;
}

}  // namespace trainctl::core
