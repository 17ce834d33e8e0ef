// A sweep: the settings that are varied, and one job for each combination of their values. Reads
// the job file, else pure.
#pragma once

#include <string>
#include <vector>

#include "client/submit/job_file.h"
#include "common/base/result.h"

namespace trainctl::client {

struct SweepAxis {
  std::string key;                  // "train.micro_batch_size"
  std::vector<std::string> values;  // as typed, several
};

struct SweepPoint {
  std::vector<std::string> values;  // one an axis
  job::JobSpec job;
};

struct Sweep {
  std::string name;  // of the base job
  std::vector<SweepAxis> axes;
  std::vector<SweepPoint> points;  // the last axis varies fastest
  std::vector<std::string> notes;
};

// "1,2,4" is three values; commas within brackets and quotes belong to a value.
std::vector<std::string> SplitValues(const std::string& text);

// Plans the points of a file with one job. Overrides with several values are the axes. Overrides of
// name, notes and tags are texts, never axes. The global batch stays if the micro batch varies and
// no override says what the batch is. Each point then has the global batch that the file's own
// micro batch has: accumulation adapts. kInvalid: nothing varies, too many points, a value twice, a
// fault of the file or of a value. The message names the place.
base::Result<Sweep> PlanSweep(const JobFileOptions& options);

}  // namespace trainctl::client
