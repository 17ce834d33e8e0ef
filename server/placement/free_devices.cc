#include "server/placement/free_devices.h"

#include <algorithm>
#include <iterator>
#include <limits>

#include "common/base/check.h"

namespace trainctl::placement {

namespace {

DeviceClass ClassOf(const job::SiteDevice& device) {
  return {device.kind, device.name, device.memory_bytes, device.compute_capability};
}

DeviceClass WithLease(DeviceClass device_class, int64_t lease) {
  device_class.lease = lease;
  return device_class;
}

}  // namespace

ClassId FreeDevices::FindClass(const DeviceClass& key) {
  const auto [found, is_new] = classes_.try_emplace(key, static_cast<ClassId>(pools_.size()));
  if (!is_new) return found->second;
  if (key.lease == 0) {
    pools_.push_back({.device_class = key, .unleased = found->second});
    return found->second;
  }
  const ClassId unleased = FindClass(WithLease(key, 0));
  found->second = static_cast<ClassId>(pools_.size());
  std::vector<ClassId>& vacant = vacant_[WithLease(key, 0)];
  if (vacant.empty()) {
    pools_.push_back({.device_class = key, .unleased = unleased});
  } else {
    found->second = vacant.back();
    vacant.pop_back();
    pools_[found->second].device_class = key;
  }
  return found->second;
}

FreeDevices::Pool FreeDevices::Pool::Where(const std::function<bool(DeviceId)>& is_wanted) const {
  Pool chosen{.device_class = device_class, .unleased = unleased, .total = total};
  for (const auto& [host, devices] : hosts) {
    std::set<std::pair<int64_t, DeviceId>> left;
    std::ranges::copy_if(devices, std::inserter(left, left.end()),
                         [&](const auto& device) { return is_wanted(device.second); });
    if (left.empty()) continue;
    const auto count = static_cast<int64_t>(left.size());
    chosen.free += count;
    chosen.by_count.emplace(count, host);
    chosen.hosts.emplace(host, std::move(left));
  }
  return chosen;
}

std::optional<base::SteadyMicros> FreeDevices::Pool::FreeAt(int64_t count) const {
  int64_t missing = count - free;
  if (missing <= 0) return std::numeric_limits<base::SteadyMicros>::min();
  for (const auto& [at, id] : coming) {
    if (--missing == 0) return at;
  }
  return std::nullopt;
}

int64_t FreeDevices::Pool::FreeBy(base::SteadyMicros at, int64_t most) const {
  int64_t count = std::min(free, most);
  for (const auto& [when, id] : coming) {
    if (count == most || when > at) break;
    ++count;
  }
  return count;
}

FreeDevices::Pool FreeDevices::PoolWith(ClassId id, const std::vector<DeviceId>& devices) const {
  Pool pool = pools_[id];
  for (const DeviceId device : devices)
    pool.hosts[entries_[device].host].emplace(entries_[device].index, device);
  pool.free = 0;
  pool.by_count.clear();
  for (const auto& [host, free] : pool.hosts) {
    pool.free += static_cast<int64_t>(free.size());
    pool.by_count.emplace(static_cast<int64_t>(free.size()), host);
  }
  return pool;
}

DeviceId FreeDevices::Register(const job::SiteDevice& device, int64_t index) {
  const auto id = static_cast<DeviceId>(entries_.size());
  entries_.push_back({.host = device.host, .index = index});
  Join(id, ClassOf(device));
  return id;
}

void FreeDevices::Describe(DeviceId id, const job::SiteDevice& device, int64_t index) {
  Leave(id);
  entries_[id] = {.host = device.host, .index = index};
  Join(id, ClassOf(device));
}

void FreeDevices::SetLinks(DeviceId id, const job::Device& device) {
  Entry& entry = entries_[id];
  entry.uuid = device.uuid;
  entry.numa_node = device.numa_node;
  entry.links = device.links;
  ++version_;
  has_links_ |= !device.links.empty();
}

job::LinkKind FreeDevices::Link(DeviceId left, DeviceId right) const {
  const Entry &one = entries_[left], &other = entries_[right];
  return one.host == other.host ? job::LinkBetween(one.uuid, one.links, other.uuid, other.links)
                                : job::LinkKind::kUnknown;
}

int64_t FreeDevices::Closeness(DeviceId left, DeviceId right) const {
  const Entry &one = entries_[left], &other = entries_[right];
  const auto link = one.links.find(other.uuid);
  const auto kind = link == one.links.end() ? job::LinkKind::kUnknown : link->second;
  const bool is_same_node = one.numa_node && one.numa_node == other.numa_node;
  return 2 * static_cast<int64_t>(kind) + (is_same_node ? 1 : 0);
}

void FreeDevices::Remove(DeviceId id) { Leave(id); }

void FreeDevices::SetLease(DeviceId id, int64_t lease) {
  const DeviceClass was = pools_[entries_[id].device_class].device_class;
  if (was.lease == lease) return;
  const bool drained = entries_[id].drained;
  Leave(id);
  Join(id, WithLease(was, lease));
  SetDrained(id, drained);
}

void FreeDevices::Join(DeviceId id, const DeviceClass& key) {
  const ClassId joined = FindClass(key);
  entries_[id].device_class = joined;
  ++version_;
  ++pools_[joined].total;
  if (key.lease != 0) ++pools_[pools_[joined].unleased].leased;
}

void FreeDevices::Leave(DeviceId id) {
  ++version_;
  SetFree(id, false);
  SetComing(id, std::nullopt);
  SetDrained(id, false);
  const ClassId left = entries_[id].device_class;
  const DeviceClass key = pools_[left].device_class;
  --pools_[left].total;
  if (key.lease == 0) return;
  --pools_[pools_[left].unleased].leased;
  if (pools_[left].total > 0) return;
  classes_.erase(key);
  vacant_[WithLease(key, 0)].push_back(left);
}

void FreeDevices::SetFree(DeviceId id, bool free) {
  Entry& entry = entries_[id];
  if (entry.free == free) return;
  SetComing(id, std::nullopt);
  entry.free = free;
  Pool& pool = pools_[entry.device_class];
  std::set<std::pair<int64_t, DeviceId>>& devices = pool.hosts[entry.host];
  const auto before = static_cast<int64_t>(devices.size());
  if (free) {
    devices.emplace(entry.index, id);
    free_.Insert(id);
  } else {
    devices.erase({entry.index, id});
    free_.Erase(id);
  }
  const auto after = static_cast<int64_t>(devices.size());
  pool.free += after - before;
  if (before > 0) pool.by_count.erase({before, entry.host});
  if (after > 0) pool.by_count.emplace(after, entry.host);
  if (after == 0) pool.hosts.erase(entry.host);
  CHECK(pool.free >= 0 && pool.free <= pool.total) << pool.free << " of " << pool.total;
}

void FreeDevices::SetDrained(DeviceId id, bool drained) {
  Entry& entry = entries_[id];
  if (entry.drained == drained) return;
  entry.drained = drained;
  ++version_;
  pools_[entry.device_class].drained += drained ? 1 : -1;
}

void FreeDevices::SetComing(DeviceId id, std::optional<base::SteadyMicros> at) {
  Entry& entry = entries_[id];
  if (entry.coming == at) return;
  CHECK(!at || !entry.free) << "device " << id << " is free already";
  std::set<std::pair<base::SteadyMicros, DeviceId>>& coming = pools_[entry.device_class].coming;
  if (entry.coming) coming.erase({*entry.coming, id});
  if (at) coming.emplace(*at, id);
  entry.coming = at;
}

}  // namespace trainctl::placement
