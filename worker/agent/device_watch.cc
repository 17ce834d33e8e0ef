#include "worker/agent/device_watch.h"

namespace trainctl::agent {

DeviceWord DeviceWatch::Look(const DeviceUse& use) const {
  if (use.rank_runs) return {false, "a rank runs on it"};
  std::string reason = use.leftovers.empty() ? use.unable : use.leftovers;
  if (reason.empty()) reason = device_.WhyNotFree();
  return {reason.empty(), std::move(reason)};
}

std::optional<DeviceWord> DeviceWatch::Check(const DeviceUse& use) {
  if (use.rank_runs) return std::nullopt;
  const DeviceWord word = Look(use);
  const base::SteadyMicros now = clock_.Steady();
  if (settling()) {
    if (!word.free && now < settle_until_) return std::nullopt;
    settle_until_ = 0;
  } else if (told_ && told_->free == word.free && now - told_at_ < kTellAgainMicros) {
    return std::nullopt;
  }
  told_ = word;
  told_at_ = now;
  return word;
}

}  // namespace trainctl::agent
