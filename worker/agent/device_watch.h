// When to tell the coordinator what about the device: after each rank's end, as soon as the device
// is free, or once it has not become free in time; whenever it changes while no rank of ours runs;
// and now and then, since what came before it undoes it if it comes late. Not thread-safe.
#pragma once

#include <optional>
#include <string>

#include "common/base/clock.h"
#include "worker/agent/device.h"

namespace trainctl::agent {

struct DeviceWord {
  bool free = false;
  std::string reason;  // why it is not
  bool operator==(const DeviceWord&) const = default;
};

// What our own ranks do to the device now.
struct DeviceUse {
  bool rank_runs = false;
  std::string leftovers;  // processes of an ended rank that can't be ended; empty: none
  std::string unable;     // why no rank can be started here; empty: one can
};

class DeviceWatch {
 public:
  // A GPU's memory comes back a moment after its processes have ended.
  static constexpr base::SteadyMicros kSettleMicros = 5'000'000;
  static constexpr base::SteadyMicros kTellAgainMicros = 10'000'000;

  DeviceWatch(Device& device, const base::Clock& clock) : device_(device), clock_(clock) {}

  // The state now, for Hello.
  DeviceWord Look(const DeviceUse& use) const;
  // The coordinator starts anew: what Check finds next is told.
  void Forget() { told_.reset(); }
  // A word is due (settling).
  void RankEnded() { settle_until_ = clock_.Steady() + kSettleMicros; }
  bool settling() const { return settle_until_ != 0; }

  // What is to be told now; nullopt: nothing.
  std::optional<DeviceWord> Check(const DeviceUse& use);

 private:
  Device& device_;
  const base::Clock& clock_;
  std::optional<DeviceWord> told_;
  base::SteadyMicros told_at_ = 0;
  base::SteadyMicros settle_until_ = 0;  // 0: no word is due
};

}  // namespace trainctl::agent
