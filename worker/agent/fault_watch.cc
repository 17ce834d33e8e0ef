#include "worker/agent/fault_watch.h"

#include <algorithm>
#include <optional>

namespace trainctl::agent {

bool FaultWatch::Look() {
  const std::optional<GpuFaults> answer = device_.Faults();
  if (!answer) return false;
  const GpuFaults& news = *answer;
  for (const int64_t xid : news.xids) Take(xid);
  bool changed = !news.xids.empty();
  // Seen before this worker's time, perhaps.
  if (news.reset_pending == true && !HasDeviceFault()) {
    Take(job::kXidRowsWaitForReset);
    changed = true;
  }
  const base::SteadyMicros clean_since = clock_.Steady() - kCleanMicros;
  const bool may_wait_for_reset = news.reset_pending.value_or(true);
  const size_t gone = std::erase_if(held_, [&](const Held& held) {
    const job::FaultClass fault_class = job::ClassOf(held.fault.xid);
    const bool stays = fault_class == job::FaultClass::kBad ||
                       (fault_class == job::FaultClass::kSuspect && may_wait_for_reset);
    return !stays && held.since <= clean_since;
  });
  return changed || gone > 0;
}

std::vector<job::DeviceFault> FaultWatch::faults() const {
  std::vector<job::DeviceFault> faults;
  for (const Held& held : held_) faults.push_back(held.fault);
  return faults;
}

// Of too many the oldest goes that is not bad.
void FaultWatch::Take(int64_t xid) {
  std::erase_if(held_, [&](const Held& held) { return held.fault.xid == xid; });
  if (held_.size() == job::kMaxFaults) {
    const auto oldest = std::ranges::find_if(held_, [](const Held& held) {
      return job::ClassOf(held.fault.xid) != job::FaultClass::kBad;
    });
    held_.erase(oldest == held_.end() ? held_.begin() : oldest);
  }
  last_ = std::max(last_ + 1, clock_.Wall());
  held_.push_back({{xid, last_}, clock_.Steady()});
}

bool FaultWatch::HasDeviceFault() const {
  return std::ranges::any_of(held_, [](const Held& held) {
    return job::ClassOf(held.fault.xid) != job::FaultClass::kApplication;
  });
}

}  // namespace trainctl::agent
