// The faults of the device that count now. An application's counts until the device was clean for a
// while. One that makes it suspect counts until no reset is due either. A bad one counts for ever:
// what ends it is an operator's to say. Not thread-safe.
#pragma once

#include <vector>

#include "common/base/clock.h"
#include "common/job/device_fault.h"
#include "worker/agent/device.h"

namespace trainctl::agent {

class FaultWatch {
 public:
  static constexpr base::SteadyMicros kCleanMicros = job::kCleanMicros;

  FaultWatch(Device& device, const base::Clock& clock) : device_(device), clock_(clock) {}

  // Asks the device; without an answer all stays. True: the faults are others than before.
  bool Look();
  // Each XID once, at most job::kMaxFaults.
  std::vector<job::DeviceFault> faults() const;

 private:
  struct Held {
    job::DeviceFault fault;
    base::SteadyMicros since = 0;
  };

  void Take(int64_t xid);
  bool HasDeviceFault() const;

  Device& device_;
  const base::Clock& clock_;
  std::vector<Held> held_;     // in order
  base::WallMicros last_ = 0;  // that a fault was given
};

}  // namespace trainctl::agent
