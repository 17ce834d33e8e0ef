#include "server/placement/pack.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <string_view>
#include <utility>

namespace trainctl::placement {
namespace {

std::vector<DeviceId> FreeOn(const FreeDevices::Pool& pool, const std::string& host) {
  std::vector<DeviceId> free;
  for (const auto& [index, id] : pool.hosts.at(host)) free.push_back(id);
  return free;
}

int64_t ClosenessTo(const FreeDevices& devices, DeviceId device, const std::vector<DeviceId>& to) {
  int64_t sum = 0;
  for (const DeviceId other : to) sum += devices.Closeness(device, other);
  return sum;
}

// The first device, then each time the one that is closest to those before; linked to all of them,
// where that is asked. Fewer than `count`: there are no more such.
Group GrowFrom(const FreeDevices& devices, DeviceId first, std::vector<DeviceId> free, size_t count,
               const job::Constraint* links = nullptr) {
  Group group{.devices = {}, .closeness = 0};
  for (auto next = std::ranges::find(free, first);;) {
    const DeviceId chosen = *next;
    group.closeness += ClosenessTo(devices, chosen, group.devices);
    group.devices.push_back(chosen);
    free.erase(next);
    if (links != nullptr) {
      std::erase_if(free, [&](DeviceId other) {
        return !job::MeetsLink(*links, devices.Link(chosen, other));
      });
    }
    if (group.devices.size() == count || free.empty()) return group;
    next = std::ranges::max_element(
        free, {}, [&](DeviceId device) { return ClosenessTo(devices, device, group.devices); });
  }
}

// The closest that are linked so, by growing from each; where that finds none, any. Empty: there
// are none.
Group ClosestLinked(const FreeDevices& devices, const std::vector<DeviceId>& free, size_t count,
                    const job::Constraint& links) {
  Group best;
  for (const DeviceId first : free) {
    Group group = GrowFrom(devices, first, free, count, &links);
    if (group.devices.size() < count) continue;
    if (best.devices.empty() || group.closeness > best.closeness) best = std::move(group);
  }
  if (!best.devices.empty()) return best;
  for (const size_t place : job::FindLinked(free.size(), count, LinkedBy(devices, links, free)))
    best.devices.push_back(free[place]);
  return best;
}

// Of hosts with enough free devices so many are looked at, the fullest first.
constexpr int kMostHosts = 32;

Group OnOneHost(const FreeDevices& devices, const FreeDevices::Pool& pool, int64_t count) {
  auto host = pool.by_count.lower_bound({count, std::string()});
  if (host == pool.by_count.end()) return {};
  Group best = Closest(devices, FreeOn(pool, host->second), static_cast<size_t>(count));
  if (count == 1 || !devices.has_links()) return best;
  for (int looked = 1; looked < kMostHosts && ++host != pool.by_count.end(); ++looked) {
    Group group = Closest(devices, FreeOn(pool, host->second), static_cast<size_t>(count));
    if (group.closeness > best.closeness) best = std::move(group);
  }
  return best;
}

// In the order of the host's own numbers.
void Take(const FreeDevices& devices, Group group, std::vector<DeviceId>* taken) {
  std::ranges::sort(group.devices, {}, [&](DeviceId id) { return devices.entry(id).index; });
  taken->insert(taken->end(), group.devices.begin(), group.devices.end());
}

}  // namespace

Group Closest(const FreeDevices& devices, std::vector<DeviceId> from, size_t count) {
  if (count <= 1 || !devices.has_links()) {
    from.resize(count);
    return {std::move(from), 0};
  }
  Group best;
  for (const DeviceId first : from) {
    Group group = GrowFrom(devices, first, from, count);
    if (best.devices.empty() || group.closeness > best.closeness) best = std::move(group);
  }
  return best;
}

Nearness NearnessOf(const FreeDevices& devices, const std::vector<DeviceId>& gang) {
  std::map<std::string_view, std::vector<DeviceId>> hosts;
  Nearness nearness;
  for (const DeviceId device : gang) {
    std::vector<DeviceId>& before = hosts[devices.entry(device).host];
    if (devices.has_links()) nearness.closeness += ClosenessTo(devices, device, before);
    before.push_back(device);
  }
  nearness.hosts = std::ssize(hosts);
  return nearness;
}

job::AreLinked LinkedBy(const FreeDevices& devices, const job::Constraint& links,
                        const std::vector<DeviceId>& ids) {
  return [&](size_t i, size_t j) { return job::MeetsLink(links, devices.Link(ids[i], ids[j])); };
}

std::vector<DeviceId> PackLinked(const FreeDevices& devices, const FreeDevices::Pool& pool,
                                 int64_t count, const job::Constraint& links) {
  Group best;
  int found = 0;
  for (auto host = pool.by_count.lower_bound({count, std::string()});
       host != pool.by_count.end() && found < kMostHosts; ++host) {
    Group group =
        ClosestLinked(devices, FreeOn(pool, host->second), static_cast<size_t>(count), links);
    if (group.devices.empty()) continue;
    ++found;
    if (best.devices.empty() || group.closeness > best.closeness) best = std::move(group);
  }
  std::vector<DeviceId> taken;
  Take(devices, std::move(best), &taken);
  return taken;
}

std::vector<DeviceId> Pack(const FreeDevices& devices, const FreeDevices::Pool& pool,
                           int64_t count) {
  std::vector<DeviceId> taken;
  if (pool.free < count) return taken;
  Take(devices, OnOneHost(devices, pool, count), &taken);
  for (auto end = pool.by_count.end(); end != pool.by_count.begin();) {
    const auto with_the_most = pool.by_count.lower_bound({std::prev(end)->first, std::string()});
    for (auto host = with_the_most; host != end; ++host) {
      const int64_t missing = count - static_cast<int64_t>(taken.size());
      if (missing == 0) return taken;
      const auto some = static_cast<size_t>(std::min(missing, host->first));
      Take(devices, Closest(devices, FreeOn(pool, host->second), some), &taken);
    }
    end = with_the_most;
  }
  return taken;
}

}  // namespace trainctl::placement
