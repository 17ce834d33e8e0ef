#include "common/job/device.h"

#include "common/base/parse_number.h"

namespace trainctl::job {
namespace {

constexpr std::string_view kSlotPrefix = "CPU slot (";

}  // namespace

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
  return std::string(kSlotPrefix) + std::to_string(threads) +
         (threads == 1 ? " thread)" : " threads)");
}

std::optional<int64_t> ThreadsOfCpuSlot(std::string_view name) {
  if (!name.starts_with(kSlotPrefix)) return std::nullopt;
  name.remove_prefix(kSlotPrefix.size());
  const std::optional<int64_t> threads = base::ParseNumber(name.substr(0, name.find(' ')));
  return threads && *threads > 0 ? threads : std::nullopt;
}

}  // namespace trainctl::job
