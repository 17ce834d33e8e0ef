// Where on a site's devices a job would run, and what is predicted of it there: one answer for a
// dry run, for submit and for a job that is inspected late. Pure, thread-safe.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "common/estimate/prediction.h"
#include "common/estimate/run_time.h"
#include "common/job/site.h"

namespace trainctl::job {

struct SitePrediction {
  // Places of the devices that it could run on: of one kind, meeting its constraints. GPUs where
  // there are enough of them, else CPU slots. Those that it fits, where these are enough.
  std::vector<size_t> candidates;
  std::optional<MemoryEstimate> memory;  // of an inspected model
  std::string device_name;               // of the first candidate, as the job would have it
};

// `devices`: those that hosts' rules leave to the job.
SitePrediction PredictOnSite(const JobSpec& job, const std::optional<Inspection>& inspection,
                             const std::vector<SiteDevice>& devices);

// What earlier runs tell of one job.
struct EarlierMeasures {
  EarlierTimes times;
  std::vector<DevicePower> powers;  // of devices, whatever ran there
};

// On the device of this name. nullopt: it is none, or nothing is known of it.
std::optional<TimeEstimate> PredictTimeOn(const JobSpec& job, const Inspection& inspection,
                                          const std::string& device_name,
                                          const std::optional<MemoryEstimate>& memory,
                                          const EarlierMeasures& earlier);

}  // namespace trainctl::job
