#include "server/placement/pack.h"

namespace trainctl::placement {
namespace {

void TakeLowest(const FreeDevices::Pool& pool, const std::string& host, int64_t count, std::vector<DeviceId>* taken) {
  for (const auto& [index, id] : pool.hosts.at(host)) {
    if (static_cast<int64_t>(taken->size()) == count) return;
    taken->push_back(id);
  }
}

}  // namespace

std::vector<DeviceId> Pack(const FreeDevices::Pool& pool, int64_t count) {
  std::vector<DeviceId> taken;
  if (pool.free < count) return taken;
  const auto fullest_that_fits = pool.by_count.lower_bound({count, std::string()});
  if (fullest_that_fits != pool.by_count.end()) {
    TakeLowest(pool, fullest_that_fits->second, count, &taken);
    return taken;
  }
  for (auto host = pool.by_count.rbegin(); host != pool.by_count.rend(); ++host) TakeLowest(pool, host->second, count, &taken);
  return taken;
}

}  // namespace trainctl::placement
