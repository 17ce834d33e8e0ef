// Other ways to run a job that the site knows, as `trainctl advise` finds them. For the read thread
// where nothing else is said.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "common/advice/way.h"
#include "common/base/result.h"
#include "server/core/state.h"
#include "server/store/reader.h"

namespace trainctl::coordinator {

// The site as it is now, which the loop alone knows.
struct AdvisedSite {
  struct Worker {
    std::string name;
    job::SiteDevice device;
    std::string kept_out;  // advice/device_choice.h
    job::HostRules rules;
  };
  std::vector<Worker> workers;
  std::map<std::string, std::set<std::string>> leases;  // names of workers, by that of the lease
  core::SitePolicy policy;
};
AdvisedSite AdvisedSiteOf(const core::State& state);  // on the loop

struct JobAdvice {
  job::JobSpec job;
  std::string device_name;
  job::DeviceKind device_kind = job::DeviceKind::kCpu;
  int64_t devices = 0;                              // of that name
  std::map<std::string, int64_t> devices_left_out;  // advice/device_choice.h
  advice::Ways ways;
  std::vector<advice::Way> front;  // advice::ParetoFront: fastest first
};

// Keeps what the job learns. A lease that is over leaves no device out. kNotFound; kInvalid: a
// group, no device of the site can run it, or its batches are indivisible; kUnavailable: nobody has
// inspected it; kIo.
base::Result<JobAdvice> AdviseJob(store::Reader& reader, const AdvisedSite& site,
                                  const std::string& name);

}  // namespace trainctl::coordinator
