#include "common/wire/device_fault.h"

#include <algorithm>

#include "proto/trainctl.pb.h"

namespace trainctl::wire {

void ToWire(const std::vector<job::DeviceFault>& faults, FaultMessages* messages) {
  for (const job::DeviceFault& fault : faults) {
    v1::DeviceFault& message = *messages->Add();
    message.set_xid(fault.xid);
    message.set_at(fault.at);
  }
}

std::vector<job::DeviceFault> FromWire(const FaultMessages& messages) {
  std::vector<job::DeviceFault> faults;
  for (const v1::DeviceFault& message : messages) {
    if (faults.size() == job::kMaxFaults) break;
    const bool is_new =
        std::ranges::find(faults, message.xid(), &job::DeviceFault::xid) == faults.end();
    if (message.xid() > 0 && is_new) faults.push_back({message.xid(), message.at()});
  }
  return faults;
}

}  // namespace trainctl::wire
