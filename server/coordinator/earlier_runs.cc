#include "server/coordinator/earlier_runs.h"

#include <algorithm>
#include <map>
#include <utility>

#include "common/rank/reduction.h"
#include "server/coordinator/summaries.h"

namespace trainctl::coordinator {
namespace {

constexpr int64_t kMostJobs = 1000;  // the newest of the site are looked at
constexpr int64_t kMostRuns = 5;     // the newest of a shape and device count
constexpr int64_t kFewestSteps = 2;  // a run of one step has no steady state

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
  if (found != devices->end() && static_cast<int64_t>(found->medians.size()) >= kMostRuns)
    return base::Ok{};
  const auto summaries = ReadSummaries(reader, job);
  if (!summaries) return summaries.error();
  if (job::StepsTrained(*summaries) < kFewestSteps) return base::Ok{};
  const auto step_seconds = job::Reduce(job::Metric::kStepSeconds, *summaries);
  if (found == devices->end()) found = devices->insert(devices->end(), {name, job, {}});
  found->medians.push_back(step_seconds->value);
  return base::Ok{};
}

job::EarlierRuns Summarize(const Measured& measured) {
  return {measured.device_name, job::Median(measured.medians).value_or(0),
          static_cast<int64_t>(measured.medians.size()), measured.latest};
}

}  // namespace

base::Result<std::vector<std::vector<job::EarlierRuns>>> FindEarlierRuns(
    store::Reader& reader, const std::vector<std::string>& shapes) {
  store::JobFilter filter;
  filter.states = {job::JobState::kFinished};
  filter.limit = kMostJobs;
  const auto jobs = reader.Jobs(filter);
  if (!jobs) return jobs.error();
  std::map<std::string, std::vector<Measured>> by_shape;
  for (const std::string& shape : shapes) by_shape[shape];
  for (const store::StoredJob& job : *jobs) {
    if (!Succeeded(job) || !job.row.inspection || job.row.unreadable) continue;
    const auto wanted = by_shape.find(job::ShapeKey(job.row.spec, *job.row.inspection));
    if (wanted == by_shape.end()) continue;
    if (const auto added = Add(reader, job.row.id, &wanted->second); !added) return added.error();
  }
  std::vector<std::vector<job::EarlierRuns>> found(shapes.size());
  for (size_t i = 0; i < shapes.size(); ++i) {
    for (const Measured& measured : by_shape[shapes[i]]) found[i].push_back(Summarize(measured));
  }
  return found;
}

}  // namespace trainctl::coordinator
