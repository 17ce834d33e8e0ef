#include "common/record/lease_record.h"

#include <string>
#include <utility>
#include <vector>

namespace trainctl::record {

Json LeaseRecord(const v1::Lease& lease) {
  Json jobs = Json::array();
  for (const v1::LeaseJob& job : lease.jobs())
    jobs.push_back({{"id", job.id()}, {"name", job.name()}, {"state", job.state()}});
  Json trouble = Json::array();
  for (const v1::LeaseDevice& device : lease.devices()) {
    if (!device.trouble().empty())
      trouble.push_back({{"device", device.worker()}, {"is", device.trouble()}});
  }
  return {{"name", lease.name()},
          {"owner", lease.owner()},
          {"state", lease.state()},
          {"start", Seconds(lease.start())},
          {"end", Seconds(lease.end())},
          {"created_at", Seconds(lease.created_at())},
          {"devices", std::vector<std::string>(lease.workers().begin(), lease.workers().end())},
          {"device_name", lease.device_name()},
          {"trouble", std::move(trouble)},
          {"jobs", std::move(jobs)}};
}

}  // namespace trainctl::record
