// The policy "pack" (placement.h). Ranks of a gang go on as few hosts as possible. Small gangs go
// where little is free, so that whole hosts stay free for big ones. Of a host's free
// devices a gang gets those that are closest to each other, by their links.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/job/linked_gang.h"
#include "server/placement/free_devices.h"

namespace trainctl::placement {

// Some devices of one host, and how close they are: the sum over all pairs.
struct Group {
  std::vector<DeviceId> devices;
  int64_t closeness = 0;
};
// Of these devices of one host the closest, by growing from each; of equal ones the first. count:
// at most so many as they are.
Group Closest(const FreeDevices& devices, std::vector<DeviceId> from, size_t count);

std::vector<DeviceId> Pack(const FreeDevices& devices, const FreeDevices::Pool& pool,
                           int64_t count);

// The same for a gang that asks for links (common/job/linked_gang.h): devices of one host, each two
// of them linked so. Of hosts that have some, that with the best links, then the fullest.
std::vector<DeviceId> PackLinked(const FreeDevices& devices, const FreeDevices::Pool& pool,
                                 int64_t count, const job::Constraint& links);

// How near the devices of a gang are to each other: on how many hosts, and how close on those.
struct Nearness {
  int64_t hosts = 0;
  int64_t closeness = 0;  // the sum over all pairs of one host
};
Nearness NearnessOf(const FreeDevices& devices, const std::vector<DeviceId>& gang);

// Whether each two of these are linked so, by their places.
job::AreLinked LinkedBy(const FreeDevices& devices, const job::Constraint& links,
                        const std::vector<DeviceId>& ids);

}  // namespace trainctl::placement
