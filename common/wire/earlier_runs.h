// job::EarlierTimes ↔ v1::ShapeRuns, and their parts; job::DevicePower ↔ v1::DevicePower.
#pragma once

#include "common/estimate/run_time.h"

namespace trainctl::v1 {
class DevicePower;
class DeviceRuns;
class DeviceStarts;
class ShapeRuns;
}  // namespace trainctl::v1

namespace trainctl::wire {

v1::DeviceRuns ToWire(const job::EarlierRuns& runs);
job::EarlierRuns FromWire(const v1::DeviceRuns& message);
v1::DevicePower ToWire(const job::DevicePower& power);
job::DevicePower FromWire(const v1::DevicePower& message);
v1::DeviceStarts ToWire(const job::EarlierStarts& starts);
job::EarlierStarts FromWire(const v1::DeviceStarts& message);
v1::ShapeRuns ToWire(const job::EarlierTimes& times);
job::EarlierTimes FromWire(const v1::ShapeRuns& message);

}  // namespace trainctl::wire
