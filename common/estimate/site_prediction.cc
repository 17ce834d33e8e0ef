#include "common/estimate/site_prediction.h"

#include <algorithm>
#include <functional>

#include "common/estimate/fit.h"
#include "common/estimate/gradient_holding.h"
#include "common/estimate/predict_time.h"
#include "common/job/linked_gang.h"

namespace trainctl::job {
namespace {

using Places = std::vector<size_t>;

bool AreEnough(const Places& places, const JobSpec& job) {
  return static_cast<int64_t>(places.size()) >= job.devices;
}

Places MeetingConstraints(const JobSpec& job, const std::vector<SiteDevice>& devices) {
  Places gpus, slots;
  for (const size_t place : PossibleDevices(job, devices))
    (devices[place].kind == DeviceKind::kCuda ? gpus : slots).push_back(place);
  return AreEnough(gpus, job) || slots.empty() ? gpus : slots;
}

// Those that the prediction fits, as the scheduler has it; all where it fits too few.
Places WithRoom(const JobSpec& job, const std::vector<SiteDevice>& devices,
                const Places& candidates, const MemoryEstimate& memory) {
  Places roomy;
  for (const size_t place : candidates) {
    const int64_t limit = MemoryLimit(job, devices[place]);
    if (limit == 0 || memory.peak_allocated <= limit) roomy.push_back(place);
  }
  return AreEnough(roomy, job) ? roomy : candidates;
}

// Of the smallest device of a gang on the roomiest of the candidates; 0: they are too few, or of
// unknown size.
int64_t DeviceBytes(const JobSpec& job, const std::vector<SiteDevice>& devices,
                    const Places& candidates) {
  std::vector<int64_t> sizes;
  for (const size_t place : candidates) sizes.push_back(devices[place].memory_bytes);
  std::ranges::sort(sizes, std::greater<>());
  return job.devices >= 1 && AreEnough(candidates, job)
             ? sizes[static_cast<size_t>(job.devices) - 1]
             : 0;
}

// It ends in its first step, if it is as expected.
void EndInFirstStep(TimeEstimate* time) {
  time->one_step = true;
  time->training_seconds = time->step_seconds;
  time->evaluation_seconds = 0;
  time->total_seconds = time->start_seconds + time->load_seconds + time->step_seconds;
}

}  // namespace

SitePrediction PredictOnSite(const JobSpec& job, const std::optional<Inspection>& inspection,
                             const std::vector<SiteDevice>& devices) {
  SitePrediction on{.candidates = MeetingConstraints(job, devices)};
  if (inspection) {
    const DeviceKind kind =
        on.candidates.empty() ? DeviceKind::kCuda : devices[on.candidates.front()].kind;
    const MemoryEstimate least = EstimateMemoryOn(job, *inspection, kind, 0);
    on.candidates = WithRoom(job, devices, on.candidates, least);
    on.memory = EstimateMemoryOn(job, *inspection, kind, DeviceBytes(job, devices, on.candidates));
  }
  if (!on.candidates.empty())
    on.device_name = DeviceNameOf(job, devices[on.candidates.front()], devices);
  return on;
}

std::optional<TimeEstimate> PredictTimeOn(const JobSpec& job, const Inspection& inspection,
                                          const std::string& device_name,
                                          const std::optional<MemoryEstimate>& memory,
                                          const EarlierMeasures& earlier) {
  if (device_name.empty()) return std::nullopt;
  const bool holds_gradients = memory && memory->holds_gradients.value_or(false);
  std::optional<TimeEstimate> time =
      PredictTime(job, inspection, device_name, holds_gradients, earlier.times);
  if (!time) return std::nullopt;
  if (job.expect == Expect::kOom) EndInFirstStep(&*time);
  CountPower(earlier.powers, &*time);
  return time;
}

}  // namespace trainctl::job
