#include "common/estimate/fit.h"

#include <algorithm>
#include <functional>

#include "common/base/size.h"
#include "common/estimate/fitting_settings.h"
#include "common/estimate/gradient_holding.h"
#include "common/job/linked_gang.h"

namespace trainctl::job {
namespace {

// What the job may use on the devices of one kind that meet its constraints, the roomiest first.
std::vector<int64_t> Limits(const JobSpec& job, const std::vector<SiteDevice>& devices,
                            DeviceKind kind) {
  std::vector<int64_t> limits;
  for (const size_t place : PossibleDevices(job, devices)) {
    const SiteDevice& device = devices[place];
    if (device.kind == kind && device.memory_bytes > 0) limits.push_back(MemoryLimit(job, device));
  }
  std::sort(limits.begin(), limits.end(), std::greater<>());
  return limits;
}

std::string LimitText(const JobSpec& job, int64_t limit) {
  const bool is_own = job.resources.gpu_memory_limit_bytes == limit;
  return base::FormatBytes(limit) + " a device, " +
         (is_own ? "its resources.gpu_memory_limit" : "the most that this site has");
}

std::string HintText(int64_t peak, const std::vector<FittingSetting>& settings) {
  std::string text = "predicted peak " + base::FormatBytes(peak);
  if (!settings.empty()) text += "; predicted to fit:";
  for (const FittingSetting& setting : settings) {
    text += (&setting == &settings.front() ? " " : ", ") + setting.overrides + " (" +
            base::FormatBytes(setting.peak_bytes) + ")";
  }
  return text + "; to submit it all the same: \"expect\": \"OOM\" or --force";
}

}  // namespace

int64_t MemoryLimit(const JobSpec& job, const SiteDevice& device) {
  const int64_t limit = job.resources.gpu_memory_limit_bytes.value_or(device.memory_bytes);
  return device.memory_bytes > 0 ? std::min(limit, device.memory_bytes) : limit;
}

std::optional<Fit> BestFit(const JobSpec& job, const Inspection& inspection,
                           const std::vector<SiteDevice>& devices) {
  std::optional<Fit> best;
  for (const DeviceKind kind : {DeviceKind::kCuda, DeviceKind::kCpu}) {
    const std::vector<int64_t> limits = Limits(job, devices, kind);
    if (job.devices < 1 || static_cast<int64_t>(limits.size()) < job.devices) continue;
    const Fit fit = {kind, EstimateMemoryOn(job, inspection, kind, 0).peak_allocated,
                     limits[static_cast<size_t>(job.devices) - 1]};
    if (!best ||
        (!best->fits() && fit.peak_bytes - fit.limit_bytes < best->peak_bytes - best->limit_bytes))
      best = fit;
  }
  return best;
}

std::vector<Problem> CheckFit(const JobSpec& job, const Inspection& inspection,
                              const std::vector<SiteDevice>& devices) {
  if (job.expect == Expect::kOom) return {};
  const std::optional<Fit> fit = BestFit(job, inspection, devices);
  if (!fit || fit->fits()) return {};
  return {{"train.micro_batch_size", 0, "",
           "a job that needs at most " + LimitText(job, fit->limit_bytes),
           HintText(fit->peak_bytes, FindFittingSettings(job, inspection, devices))}};
}

}  // namespace trainctl::job
