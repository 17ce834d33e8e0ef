#include "common/estimate/predict_time.h"

#include <algorithm>
#include <tuple>

#include "common/job/device.h"

namespace trainctl::job {
namespace {

// A process starts alike on CPU slots of any number of threads.
bool IsOfKind(std::string_view name, std::string_view other) {
  return name == other || (ThreadsOfCpuSlot(name) && ThreadsOfCpuSlot(other));
}

// Of the nearest runs, before all of those on such a device itself; null: none ran there.
const EarlierStarts* NearestStarts(const std::vector<EarlierStarts>& starts,
                                   std::string_view device_name) {
  const auto distance = [&](const EarlierStarts& of) {
    return std::tuple(of.runs <= 0 || !IsOfKind(of.device_name, device_name), of.source,
                      of.device_name != device_name);
  };
  const auto nearest = std::ranges::min_element(starts, {}, distance);
  if (nearest == starts.end() || std::get<0>(distance(*nearest))) return nullptr;
  return &*nearest;
}

// What rates say of its step stays beside it.
std::optional<TimeEstimate> FromRuns(const JobSpec& job, const Inspection& inspection,
                                     const EarlierRuns& runs,
                                     const std::optional<TimeEstimate>& by_rates) {
  std::optional<TimeEstimate> time = EstimateTimeFromRuns(job, inspection, runs);
  if (time && by_rates) time->rates_step_seconds = by_rates->rates_step_seconds;
  return time;
}

}  // namespace

std::optional<TimeEstimate> PredictTime(const JobSpec& job, const Inspection& inspection,
                                        std::string_view device_name, bool holds_gradients,
                                        const EarlierTimes& earlier) {
  std::optional<TimeEstimate> time = EstimateTime(job, inspection, device_name, holds_gradients);
  for (const EarlierRuns& runs : earlier.runs) {
    if (runs.device_name == device_name && runs.runs > 0)
      time = FromRuns(job, inspection, runs, time);
  }
  const EarlierStarts* starts = NearestStarts(earlier.starts, device_name);
  if (time && starts != nullptr) CountStart(*starts, &*time);
  return time;
}

}  // namespace trainctl::job
