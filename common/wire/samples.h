// job::DeviceSample ↔ v1::DeviceSample, job::HostSample ↔ v1::HostSample. What a message has beyond
// the bounds of common/job/samples.h is left out.
#pragma once

#include "common/job/samples.h"

namespace trainctl::v1 {
class DeviceSample;
class HostSample;
}  // namespace trainctl::v1

namespace trainctl::wire {

v1::DeviceSample ToWire(const job::DeviceSample& sample);
job::DeviceSample FromWire(const v1::DeviceSample& message);
v1::HostSample ToWire(const job::HostSample& sample);
job::HostSample FromWire(const v1::HostSample& message);

}  // namespace trainctl::wire
