#include "client/submit/lab_time.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>

#include "client/show/format.h"
#include "common/base/size.h"

namespace trainctl::client {
namespace {

int64_t MostDevices(const std::vector<Assessment>& assessments) {
  int64_t most = 1;
  for (const Assessment& assessment : assessments) {
    most = std::max(
        {most, static_cast<int64_t>(assessment.candidates.size()), assessment.job.devices});
  }
  return most;
}

// Of an exclusive job: all of as many hosts as it needs.
int64_t DevicesTaken(const Assessment& assessment) {
  const int64_t wanted = assessment.job.devices;
  if (!assessment.job.exclusive) return wanted;
  std::map<std::string, int64_t> hosts;
  for (const SiteWorker& worker : assessment.candidates) ++hosts[worker.device.host];
  int64_t taken = 0;
  for (auto host = hosts.begin(); host != hosts.end() && taken < wanted; ++host)
    taken += host->second;
  return std::max(taken, wanted);
}

}  // namespace

LabTime PredictLab(const std::vector<Assessment>& assessments,
                   std::optional<int64_t> max_parallel) {
  LabTime lab{.devices = MostDevices(assessments)};
  std::vector<double> free_at(static_cast<size_t>(lab.devices), 0.0);
  std::multiset<double> ends;  // of those that count against the bound
  for (const Assessment& assessment : assessments) {
    if (!assessment.site_problems.empty()) {
      ++lab.refused;
    } else if (!assessment.time) {
      ++lab.unknown;
    } else {
      ++lab.experiments;
      std::sort(free_at.begin(), free_at.end());
      const auto taken = static_cast<size_t>(DevicesTaken(assessment));
      double start = free_at[taken - 1];
      if (max_parallel && static_cast<int64_t>(ends.size()) >= *max_parallel)
        start = std::max(start, ends.extract(ends.begin()).value());
      const double end = start + assessment.time->total_seconds;
      ends.insert(end);
      // Of those that are free by then the ones that were used last: others stay for others.
      const auto free_by_then = std::upper_bound(free_at.begin(), free_at.end(), start);
      std::fill(free_by_then - static_cast<std::ptrdiff_t>(taken), free_by_then, end);
      lab.seconds = std::max(lab.seconds, end);
    }
  }
  lab.used = std::ranges::count_if(free_at, [](double end) { return end > 0; });
  return lab;
}

bool Fits(const LabTime& lab, int64_t within_seconds) {
  return lab.seconds <= static_cast<double>(within_seconds);
}

std::string LabText(const LabTime& lab, std::optional<int64_t> within_seconds,
                    const std::string& whose) {
  std::string left_out;
  if (lab.unknown > 0)
    left_out += "; " + Plural(lab.unknown, "experiment") + " of unknown time not counted";
  if (lab.refused > 0)
    left_out += "; " + Plural(lab.refused, "experiment") + " would be refused and not counted";
  if (lab.experiments == 0) return "not predicted" + left_out;
  std::string text = base::FormatDuration(std::llround(lab.seconds)) + " predicted for " +
                     Plural(lab.experiments, "experiment") + " on " + Plural(lab.used, "device");
  if (within_seconds) {
    text += std::string(Fits(lab, *within_seconds) ? "; fits " : "; does not fit ") +
            base::FormatDuration(*within_seconds) + whose;
  }
  return text + left_out;
}

Json LabJson(const LabTime& lab, std::optional<int64_t> within_seconds) {
  return {{"seconds", lab.seconds},
          {"devices", lab.devices},
          {"experiments", lab.experiments},
          {"unknown", lab.unknown},
          {"refused", lab.refused},
          {"fits", within_seconds ? Json(Fits(lab, *within_seconds)) : Json(nullptr)}};
}

}  // namespace trainctl::client
