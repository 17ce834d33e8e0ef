#include "server/placement/pack.h"

#include <iterator>

namespace trainctl::placement {
namespace {

void TakeLowest(const FreeDevices::Pool& pool, const std::string& host, int64_t count,
                std::vector<DeviceId>* taken) {
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
  for (auto end = pool.by_count.end(); end != pool.by_count.begin();) {
    const auto with_the_most = pool.by_count.lower_bound({std::prev(end)->first, std::string()});
    for (auto host = with_the_most; host != end; ++host)
      TakeLowest(pool, host->second, count, &taken);
    end = with_the_most;
  }
  return taken;
}

}  // namespace trainctl::placement
