// What was predicted of a job when it was submitted; stored with it as prediction_json.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "common/base/result.h"
#include "common/estimate/memory_estimate.h"
#include "common/estimate/run_time.h"

namespace trainctl::job {

struct Prediction {
  MemoryEstimate memory;
  std::optional<TimeEstimate> time;  // nullopt: nothing is known of the device, or of the data
};

// The memory estimate's members, and "time": {"step_seconds", "training_seconds", "total_seconds",
// "earlier_runs", "device_name"} or null.
std::string ToJson(const Prediction& prediction);
base::Result<Prediction> PredictionFromJson(std::string_view text);

}  // namespace trainctl::job
