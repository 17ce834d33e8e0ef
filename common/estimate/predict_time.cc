#include "common/estimate/predict_time.h"

namespace trainctl::job {

std::optional<TimeEstimate> PredictTime(const JobSpec& job, const Inspection& inspection,
                                        std::string_view device_name, bool holds_gradients,
                                        const EarlierTimes& earlier) {
  std::optional<TimeEstimate> time = EstimateTime(job, inspection, device_name, holds_gradients);
  for (const EarlierRuns& runs : earlier.runs) {
    if (runs.device_name == device_name && runs.runs > 0)
      time = EstimateTimeFromRuns(job, inspection, runs);
  }
  if (!time) return time;
  for (const EarlierStarts& starts : earlier.starts) {
    if (starts.device_name == device_name && starts.runs > 0) CountStart(starts, &*time);
  }
  return time;
}

}  // namespace trainctl::job
