#include "common/job/lease_room.h"

#include <algorithm>
#include <set>

namespace trainctl::job {

std::string LeaseText(const std::string& name, const std::string& owner) {
  return "lease '" + name + "'" + (owner.empty() ? "" : " of " + owner);
}

std::string NoRoom(const LeaseRoom& room, const JobSpec& job) {
  if (room.is_ending) return room.lease + " is about to end, " + room.end;
  if (job.devices > room.devices) {
    return room.lease + " has " + std::to_string(room.devices) +
           (room.devices == 1 ? " device" : " devices") + ", the job wants " +
           std::to_string(job.devices);
  }
  if (!job.exclusive || job.devices <= room.whole_host_devices) return "";
  return room.lease + " has no host whole, with all its devices, for a job that is exclusive";
}

int64_t DevicesOfWholeHosts(const std::vector<LeasedOrNot>& site) {
  std::set<std::string> parted;
  for (const LeasedOrNot& device : site) {
    if (!device.leased) parted.insert(device.host);
  }
  return std::ranges::count_if(
      site, [&](const LeasedOrNot& device) { return !parted.contains(device.host); });
}

}  // namespace trainctl::job
