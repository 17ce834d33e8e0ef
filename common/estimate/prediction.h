// What was predicted of a job when it was submitted; stored with it as prediction_json.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "common/base/result.h"
#include "common/estimate/memory_estimate.h"
#include "common/estimate/run_time.h"

namespace trainctl::job {

// What a prediction may be wrong by, where a job goes before another, or before a lease, on its
// account.
inline constexpr double kPredictionMargin = 1.5;

struct Prediction {
  MemoryEstimate memory;
  std::optional<TimeEstimate> time;  // nullopt: nothing is known of the device, or of the data
};

// The time's training_seconds are those of this job's own steps: not of one that goes on from a
// checkpoint which was not known at submit.
bool CountsOwnSteps(const JobSpec& job, const std::optional<Inspection>& inspection);

// TimeEstimate's members.
std::string ToJson(const TimeEstimate& time);
// The memory estimate's members, and "time": TimeEstimate's members or null.
std::string ToJson(const Prediction& prediction);
base::Result<Prediction> PredictionFromJson(std::string_view text);

}  // namespace trainctl::job
