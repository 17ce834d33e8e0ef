// Which devices a gang gets: an explicit table of policies. Pure: a policy looks at the free
// devices of one class and names some; who asks takes them.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "server/placement/free_devices.h"

namespace trainctl::placement {

// Devices for `count` ranks (count ≥ 1), by rank; empty where the pool has fewer free. The pool is
// one of these devices', or a part of one.
using Choose = std::vector<DeviceId> (*)(const FreeDevices& devices, const FreeDevices::Pool& pool,
                                         int64_t count);

struct Policy {
  std::string_view name;
  std::string_view text;  // for people
  Choose choose;
};

// pack: on one host where one has enough: where they are linked best, then the fullest such. Else
// over the hosts with the most free devices. Lowest indices first. The first is the default.
std::span<const Policy> Policies();

// Of two classes that would do: a GPU before a CPU slot, then the one with less memory. So big
// devices stay free for who needs them.
bool Prefer(const DeviceClass& left, const DeviceClass& right);

}  // namespace trainctl::placement
