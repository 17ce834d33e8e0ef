#include "server/coordinator/earlier_runs.h"

#include <algorithm>
#include <map>
#include <utility>

#include "common/estimate/memory_estimate.h"
#include "common/estimate/run_time.h"
#include "server/coordinator/steady_median.h"

namespace trainctl::coordinator {
namespace {

// The medians of one device's runs, newest first.
struct Measured {
  std::string device_name;
  base::JobId latest;
  std::vector<double> medians;
};

bool Succeeded(const store::StoredJob& job) {
  return job.status.end && job.status.end->outcome == job::Outcome::kSucceeded;
}

// Adds the run to its device's, unless that has enough, or the run has no steady state.
base::Status Add(store::Reader& reader, base::JobId job, std::vector<Measured>* devices) {
  const auto attempts = reader.Attempts(job);
  if (!attempts) return attempts.error();
  if (attempts->empty() || attempts->back().ranks.empty()) return base::Ok{};
  const std::string& name = attempts->back().ranks.front().device_name;
  auto found = std::find_if(devices->begin(), devices->end(),
                            [&](const Measured& measured) { return measured.device_name == name; });
  if (found != devices->end() &&
      static_cast<int64_t>(found->medians.size()) >= EarlierRuns::kMostRuns)
    return base::Ok{};
  const auto median = SteadyMedian(reader, job, "step_seconds");
  if (!median) return median.error();
  if (!*median) return base::Ok{};
  if (found == devices->end()) found = devices->insert(devices->end(), {name, job, {}});
  found->medians.push_back(**median);
  return base::Ok{};
}

EarlierRuns Summarize(Measured measured) {
  const auto middle =
      measured.medians.begin() + static_cast<std::ptrdiff_t>(measured.medians.size() / 2);
  std::nth_element(measured.medians.begin(), middle, measured.medians.end());
  return {measured.device_name, *middle, static_cast<int64_t>(measured.medians.size()),
          measured.latest};
}

}  // namespace

base::Result<std::vector<std::vector<EarlierRuns>>> FindEarlierRuns(
    store::Reader& reader, const std::vector<std::string>& shapes) {
  store::JobFilter filter;
  filter.states = {job::JobState::kFinished};
  filter.limit = EarlierRuns::kMostJobs;
  const auto jobs = reader.Jobs(filter);
  if (!jobs) return jobs.error();
  std::map<std::string, std::vector<Measured>> by_shape;
  for (const std::string& shape : shapes) by_shape[shape];
  for (const store::StoredJob& job : *jobs) {
    const auto inspection = job::InspectionFromJson(job.row.inspection_json);
    if (!Succeeded(job) || !inspection) continue;
    const auto wanted = by_shape.find(job::ShapeKey(job.row.spec, *inspection));
    if (wanted == by_shape.end()) continue;
    if (const auto added = Add(reader, job.row.id, &wanted->second); !added) return added.error();
  }
  std::vector<std::vector<EarlierRuns>> found(shapes.size());
  for (size_t i = 0; i < shapes.size(); ++i) {
    for (const Measured& measured : by_shape[shapes[i]]) found[i].push_back(Summarize(measured));
  }
  return found;
}

}  // namespace trainctl::coordinator
