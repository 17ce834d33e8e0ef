#include "worker/agent/device_watch.h"

namespace trainctl::agent {

DeviceWord DeviceWatch::Look(const DeviceUse& use) const {
  if (use.rank_runs) return {false, "a rank runs on it"};
  std::string reason = use.leftovers.empty() ? device_.WhyNotFree() : use.leftovers;
  return {reason.empty(), std::move(reason)};
}

std::optional<DeviceWord> DeviceWatch::Check(const DeviceUse& use) {
  if (use.rank_runs) return std::nullopt;
  const DeviceWord word = Look(use);
  if (settling()) {
    if (!word.free && clock_.Steady() < settle_until_) return std::nullopt;
    settle_until_ = 0;
  } else if (told_ && told_->free == word.free) {
    return std::nullopt;
  }
  told_ = word;
  return word;
}

}  // namespace trainctl::agent
