#include "server/placement/placement.h"

#include <array>
#include <tuple>

#include "server/placement/pack.h"

namespace trainctl::placement {

std::span<const Policy> Policies() {
  static constexpr std::array kPolicies = {
      Policy{
          "pack",
          "on one host where one has enough free devices, those with the best links, then on the "
          "fullest such; else on the hosts with the most",
          Pack},
  };
  return kPolicies;
}

bool Prefer(const DeviceClass& left, const DeviceClass& right) {
  const auto key = [](const DeviceClass& device_class) {
    return std::tuple(device_class.kind != job::DeviceKind::kCuda, device_class.memory_bytes,
                      device_class);
  };
  return key(left) < key(right);
}

}  // namespace trainctl::placement
