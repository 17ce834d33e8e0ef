#include "common/job/device.h"

namespace trainctl::job {

std::string_view Name(DeviceKind kind) {
  switch (kind) {
    case DeviceKind::kCuda: return "cuda";
    case DeviceKind::kCpu: return "cpu";
  }
  return "";
}

std::optional<DeviceKind> ParseDeviceKind(std::string_view name) {
  for (const DeviceKind kind : {DeviceKind::kCuda, DeviceKind::kCpu}) {
    if (Name(kind) == name) return kind;
  }
  return std::nullopt;
}

std::string CpuSlotName(int64_t threads) {
  return "CPU slot (" + std::to_string(threads) + (threads == 1 ? " thread)" : " threads)");
}

}  // namespace trainctl::job
