#include "server/placement/free_devices.h"

#include <algorithm>
#include <limits>

#include "common/base/check.h"

namespace trainctl::placement {

ClassId FreeDevices::FindClass(const job::SiteDevice& device) {
  const DeviceClass key{device.kind, device.name, device.memory_bytes, device.compute_capability};
  const auto [found, is_new] = classes_.try_emplace(key, static_cast<ClassId>(pools_.size()));
  if (is_new) pools_.push_back({.device_class = key});
  return found->second;
}

FreeDevices::Pool FreeDevices::Pool::OnHosts(
    const std::function<bool(const std::string& host)>& is_wanted) const {
  Pool chosen{.device_class = device_class, .total = total};
  for (const auto& [host, devices] : hosts) {
    if (!is_wanted(host)) continue;
    const auto count = static_cast<int64_t>(devices.size());
    chosen.free += count;
    chosen.hosts.emplace(host, devices);
    chosen.by_count.emplace(count, host);
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

DeviceId FreeDevices::Register(const job::SiteDevice& device, int64_t index) {
  const auto id = static_cast<DeviceId>(entries_.size());
  entries_.push_back({.device_class = FindClass(device), .host = device.host, .index = index});
  ++pools_[entries_[id].device_class].total;
  return id;
}

void FreeDevices::Describe(DeviceId id, const job::SiteDevice& device, int64_t index) {
  Leave(id);
  entries_[id] = {.device_class = FindClass(device), .host = device.host, .index = index};
  ++pools_[entries_[id].device_class].total;
}

void FreeDevices::Remove(DeviceId id) { Leave(id); }

void FreeDevices::Leave(DeviceId id) {
  SetFree(id, false);
  SetComing(id, std::nullopt);
  SetDrained(id, false);
  --pools_[entries_[id].device_class].total;
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
  } else {
    devices.erase({entry.index, id});
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
