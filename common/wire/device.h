// job::Device ↔ v1::Device.
#pragma once

#include "common/base/result.h"
#include "common/job/device.h"

namespace trainctl::v1 {
class Device;
}

namespace trainctl::wire {

v1::Device ToWire(const job::Device& device);

// kInvalid names the field: "device.kind: 'tpu': expected cuda or cpu".
base::Result<job::Device> FromWire(const v1::Device& message);

}  // namespace trainctl::wire
