#include "server/coordinator/earlier_runs.h"

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include "common/rank/reduction.h"
#include "server/coordinator/summaries.h"

namespace trainctl::coordinator {
namespace {

constexpr int64_t kMostJobs = 1000;  // the newest of the site are looked at
constexpr int64_t kMostRuns = 5;     // the newest of a shape, or start, and device
constexpr int64_t kMostPowers = 50;  // the newest jobs of whatever shape that are asked for power
constexpr int64_t kFewestSteps = 2;  // a run of one step has no steady state
constexpr double kMicrosPerSecond = 1e6;

// What one device's runs of one key took, newest first.
struct OfDevice {
  std::string device_name;
  base::JobId latest;
  std::vector<double> steps, starts, loads, watts;

  bool is_full() const {
    return static_cast<int64_t>(std::max(steps.size(), loads.size())) >= kMostRuns;
  }
};

using ByKey = std::map<std::string, std::vector<OfDevice>>;

bool Succeeded(const store::StoredJob& job) {
  return job.status.end && job.status.end->outcome == job::Outcome::kSucceeded;
}

OfDevice& DeviceOf(const std::string& name, base::JobId job, std::vector<OfDevice>* devices) {
  const auto found = std::ranges::find(*devices, name, &OfDevice::device_name);
  if (found != devices->end()) return *found;
  return devices->emplace_back(OfDevice{name, job, {}, {}, {}, {}});
}

// What the key asks of a run on the device; null: nothing, or there are enough.
std::vector<OfDevice>* Find(ByKey& asked, const std::string& key, const std::string& device) {
  const auto found = asked.find(key);
  if (found == asked.end()) return nullptr;
  const auto known = std::ranges::find(found->second, device, &OfDevice::device_name);
  return known != found->second.end() && known->is_full() ? nullptr : &found->second;
}

// A run, read once for whatever is asked of it.
struct Run {
  store::StoredAttempt attempt;  // the latest
  int64_t attempts = 0;
  std::vector<job::MetricSummary> summaries;

  const std::string& device_name() const { return attempt.ranks.front().device_name; }
  double Value(job::Metric metric) const {
    const auto value = job::Reduce(metric, summaries);
    return value ? value->value : 0;
  }
};

void AddPower(const Run& run, OfDevice* device) {
  if (const double watts = run.Value(job::Metric::kGpuPower); watts > 0)
    device->watts.push_back(watts);
}

void AddSteps(const Run& run, base::JobId job, std::vector<OfDevice>* devices) {
  if (job::StepsTrained(run.summaries) < kFewestSteps) return;
  OfDevice& device = DeviceOf(run.device_name(), job, devices);
  device.steps.push_back(run.Value(job::Metric::kStepSeconds));
  AddPower(run, &device);
}

// When the last rank had loaded; 0: none said so.
base::Result<base::WallMicros> LoadedAt(store::Reader& reader, base::JobId job) {
  base::WallMicros last = 0;
  const base::Status read =
      reader.Points(job, {.names = {std::string(job::Name(job::Metric::kLoadSeconds))}},
                    [&](std::span<const job::MetricPoint> points) {
                      for (const job::MetricPoint& point : points)
                        last = std::max(last, point.time);
                      return true;
                    });
  if (!read) return read.error();
  return last;
}

// Of a run of one attempt: what a restart loads is another thing.
base::Status AddStart(store::Reader& reader, const Run& run, base::JobId job,
                      std::vector<OfDevice>* devices) {
  const double load = run.Value(job::Metric::kLoadSeconds);
  if (run.attempts != 1 || load <= 0) return base::Ok{};
  const auto loaded_at = LoadedAt(reader, job);
  if (!loaded_at) return loaded_at.error();
  OfDevice& device = DeviceOf(run.device_name(), job, devices);
  const double since_placed =
      static_cast<double>(*loaded_at - run.attempt.row.placed_at) / kMicrosPerSecond;
  device.loads.push_back(load);
  device.starts.push_back(
      std::max(0.0, since_placed - load - run.Value(job::Metric::kTrialSeconds)));
  return base::Ok{};
}

// nullopt: no rank of it has told of its device.
base::Result<std::optional<Run>> ReadRun(store::Reader& reader, base::JobId id) {
  auto attempts = reader.Attempts(id);
  if (!attempts) return attempts.error();
  if (attempts->empty() || attempts->back().ranks.empty()) return std::optional<Run>();
  auto summaries = ReadSummaries(reader, id);
  if (!summaries) return summaries.error();
  return std::optional<Run>(
      {std::move(attempts->back()), static_cast<int64_t>(attempts->size()), std::move(*summaries)});
}

// What is asked for, and found so far.
struct Wanted {
  ByKey shapes, starts;  // with the keys that are asked for
  std::vector<OfDevice> powers;
  int64_t asked_for_power = 0;
};

base::Status Learn(store::Reader& reader, const store::StoredJob& job, Wanted& wanted) {
  const base::JobId id = job.row.id;
  const std::string shape = job::ShapeKey(job.row.spec, *job.row.inspection);
  const std::string start = job::StartKey(job.row.spec, *job.row.inspection);
  const bool is_new = wanted.asked_for_power++ < kMostPowers;
  if (!is_new && !wanted.shapes.contains(shape) && !wanted.starts.contains(start))
    return base::Ok{};
  const auto run = ReadRun(reader, id);
  if (!run) return run.error();
  if (!*run) return base::Ok{};
  const std::string& device = (*run)->device_name();
  if (is_new) AddPower(**run, &DeviceOf(device, id, &wanted.powers));
  std::vector<OfDevice>* of_shape = Find(wanted.shapes, shape, device);
  std::vector<OfDevice>* of_start = Find(wanted.starts, start, device);
  if (of_shape != nullptr) AddSteps(**run, id, of_shape);
  return of_start == nullptr ? base::Status(base::Ok{}) : AddStart(reader, **run, id, of_start);
}

job::EarlierTimes Summarize(const std::vector<OfDevice>& by_shape,
                            const std::vector<OfDevice>& by_start) {
  job::EarlierTimes times;
  for (const OfDevice& device : by_shape) {
    times.runs.push_back({device.device_name, job::Median(device.steps).value_or(0),
                          static_cast<int64_t>(device.steps.size()), device.latest,
                          job::Median(device.watts)});
  }
  for (const OfDevice& device : by_start) {
    times.starts.push_back({device.device_name, job::Median(device.starts).value_or(0),
                            job::Median(device.loads).value_or(0),
                            static_cast<int64_t>(device.loads.size())});
  }
  return times;
}

std::vector<job::DevicePower> PowersOf(const std::vector<OfDevice>& devices) {
  std::vector<job::DevicePower> powers;
  for (const OfDevice& device : devices) {
    if (const auto watts = job::Median(device.watts))
      powers.push_back({device.device_name, *watts, static_cast<int64_t>(device.watts.size())});
  }
  return powers;
}

}  // namespace

base::Result<RunsFound> FindEarlierRuns(store::Reader& reader, const std::vector<RunKeys>& asked) {
  store::JobFilter filter;
  filter.states = {job::JobState::kFinished};
  filter.limit = kMostJobs;
  const auto jobs = reader.Jobs(filter);
  if (!jobs) return jobs.error();
  Wanted wanted;
  for (const RunKeys& keys : asked) {
    wanted.shapes[keys.shape];
    wanted.starts[keys.start];
  }
  for (const store::StoredJob& job : *jobs) {
    if (!Succeeded(job) || !job.row.inspection || job.row.unreadable) continue;
    if (const auto learned = Learn(reader, job, wanted); !learned) return learned.error();
  }
  RunsFound found{.powers = PowersOf(wanted.powers)};
  for (const RunKeys& keys : asked)
    found.jobs.push_back(Summarize(wanted.shapes[keys.shape], wanted.starts[keys.start]));
  return found;
}

}  // namespace trainctl::coordinator
