// job::DeviceFault ↔ v1::DeviceFault. Of more than kMaxFaults, and of what is no XID, the rest is
// left out.
#pragma once

#include <vector>

#include "common/job/device_fault.h"

namespace google::protobuf {
template <class Element>
class RepeatedPtrField;
}  // namespace google::protobuf

namespace trainctl::v1 {
class DeviceFault;
}  // namespace trainctl::v1

namespace trainctl::wire {

using FaultMessages = google::protobuf::RepeatedPtrField<v1::DeviceFault>;

void ToWire(const std::vector<job::DeviceFault>& faults, FaultMessages* messages);
std::vector<job::DeviceFault> FromWire(const FaultMessages& messages);

}  // namespace trainctl::wire
