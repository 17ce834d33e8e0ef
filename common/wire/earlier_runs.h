// job::EarlierRuns ↔ v1::DeviceRuns.
#pragma once

#include "common/estimate/run_time.h"

namespace trainctl::v1 {
class DeviceRuns;
}

namespace trainctl::wire {

v1::DeviceRuns ToWire(const job::EarlierRuns& runs);
job::EarlierRuns FromWire(const v1::DeviceRuns& message);

}  // namespace trainctl::wire
