// Other ways to run a job that the site knows, as `trainctl advise` finds them. For the read
// thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/advice/way.h"
#include "common/base/result.h"
#include "server/store/reader.h"

namespace trainctl::coordinator {

struct JobAdvice {
  job::JobSpec job;
  std::string device_name;
  int64_t devices = 0;  // of that name
  advice::Ways ways;
  std::vector<advice::Way> front;  // advice::ParetoFront: fastest first
};

// Keeps what the job learns. kNotFound; kInvalid: a group, no device of the site can run it, or
// its batches are indivisible; kUnavailable: nobody has inspected it; kIo.
base::Result<JobAdvice> AdviseJob(store::Reader& reader, const std::string& name);

}  // namespace trainctl::coordinator
