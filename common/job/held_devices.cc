#include "common/job/held_devices.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>

namespace trainctl::job {
namespace {

// Ranks of one gang are on devices of one model.
using Model = std::tuple<DeviceKind, std::string, int64_t, std::string>;

Model ModelOf(const SiteDevice& device) {
  return {device.kind, device.name, device.memory_bytes, device.compute_capability};
}

// By model, the hosts that have some.
std::map<Model, std::vector<WholeHost>> HostsByModel(const JobSpec& job,
                                                     const std::vector<SiteDevice>& reached,
                                                     const std::vector<SiteDevice>& site) {
  std::map<std::string, int64_t> all;
  for (const SiteDevice& device : site) ++all[device.host];
  std::map<std::pair<Model, std::string>, int64_t> usable;
  std::string reason;
  for (const SiteDevice& device : reached) {
    if (MeetsConstraints(job, device, &reason)) ++usable[{ModelOf(device), device.host}];
  }
  std::map<Model, std::vector<WholeHost>> hosts;
  for (const auto& [place, count] : usable)
    hosts[place.first].push_back({count, std::max(count, all[place.second])});
  return hosts;
}

}  // namespace

// A knapsack: for each number of ranks the cheapest hosts among those looked at so far.
std::optional<WholeHosts> FewestDevices(const std::vector<WholeHost>& hosts, int64_t ranks) {
  using Cost = std::pair<int64_t, int64_t>;  // devices, hosts
  const auto wanted = static_cast<size_t>(ranks);
  std::vector<std::optional<Cost>> cheapest(wanted + 1);
  cheapest[0] = Cost();
  std::vector<std::vector<bool>> takes(hosts.size(), std::vector<bool>(wanted + 1));
  for (size_t host = 0; host < hosts.size(); ++host) {
    const auto usable = static_cast<size_t>(hosts[host].usable);
    for (size_t count = wanted; count > 0; --count) {
      const std::optional<Cost>& rest = cheapest[count - std::min(count, usable)];
      if (usable == 0 || !rest) continue;
      const Cost with = {rest->first + hosts[host].all, rest->second + 1};
      if (cheapest[count] && *cheapest[count] <= with) continue;
      cheapest[count] = with;
      takes[host][count] = true;
    }
  }
  if (!cheapest[wanted]) return std::nullopt;
  WholeHosts least{.devices = cheapest[wanted]->first, .hosts = {}};
  for (size_t host = hosts.size(), count = wanted; host-- > 0 && count > 0;) {
    if (!takes[host][count]) continue;
    least.hosts.insert(least.hosts.begin(), host);
    count -= std::min(count, static_cast<size_t>(hosts[host].usable));
  }
  return least;
}

int64_t LeastHeldDevices(const JobSpec& job, const std::vector<SiteDevice>& reached,
                         const std::vector<SiteDevice>& site) {
  if (!job.exclusive) return job.devices;
  std::optional<int64_t> least;
  for (const auto& [model, hosts] : HostsByModel(job, reached, site)) {
    const std::optional<WholeHosts> whole = FewestDevices(hosts, job.devices);
    if (whole) least = std::min(least.value_or(whole->devices), whole->devices);
  }
  return least.value_or(job.devices);
}

}  // namespace trainctl::job
