// The policy "pack" (placement.h). Ranks of a gang go on as few hosts as possible. Small gangs go
// where little is free, so that whole hosts stay free for big ones. Of a host's free
// devices a gang gets those that are closest to each other, by their links.
#pragma once

#include <cstdint>
#include <vector>

#include "server/placement/free_devices.h"

namespace trainctl::placement {

std::vector<DeviceId> Pack(const FreeDevices& devices, const FreeDevices::Pool& pool,
                           int64_t count);

}  // namespace trainctl::placement
