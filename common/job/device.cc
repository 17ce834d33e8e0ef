#include "common/job/device.h"

namespace trainctl::job {

std::string_view Name(DeviceKind kind) { return kind == DeviceKind::kCuda ? "cuda" : "cpu"; }

std::optional<DeviceKind> ParseDeviceKind(std::string_view name) {
  if (name == "cuda") return DeviceKind::kCuda;
  if (name == "cpu") return DeviceKind::kCpu;
  return std::nullopt;
}

std::string CpuSlotName(int64_t threads) {
  return "CPU slot (" + std::to_string(threads) + (threads == 1 ? " thread)" : " threads)");
}

}  // namespace trainctl::job
