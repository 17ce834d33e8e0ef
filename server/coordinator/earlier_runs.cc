#include "server/coordinator/earlier_runs.h"

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include "common/rank/disturbance.h"
#include "common/rank/reduction.h"
#include "server/coordinator/summaries.h"

namespace trainctl::coordinator {
namespace {

constexpr int64_t kMostJobs = 1000;  // the newest of the site are looked at
constexpr int64_t kMostRuns = 5;     // the newest of a shape, or start, and device
constexpr int64_t kMostTried = 20;   // as well, those that others slowed included
constexpr int64_t kMostNewest = 50;  // of whatever shape: for power, and the start of any model
constexpr int64_t kFewestSteps = 2;  // a run of one step has no steady state
constexpr double kMicrosPerSecond = 1e6;

// What runs took, newest first.
struct Taken {
  std::vector<double> steps, starts, loads;

  int64_t runs() const { return static_cast<int64_t>(std::max(steps.size(), loads.size())); }
};

// What one device's runs of one key took. Those that other work slowed count where there are no
// others.
struct OfDevice {
  std::string device_name;
  base::JobId latest = {};
  Taken alone = {}, disturbed = {};
  std::vector<double> watts = {};

  Taken& Of(bool is_disturbed) { return is_disturbed ? disturbed : alone; }
  bool is_disturbed() const { return alone.runs() == 0; }
  const Taken& taken() const { return is_disturbed() ? disturbed : alone; }
  bool is_full() const {
    return alone.runs() >= kMostRuns || alone.runs() + disturbed.runs() >= kMostTried;
  }
};

using ByKey = std::map<std::string, std::vector<OfDevice>>;

bool Succeeded(const store::StoredJob& job) {
  return job.status.end && job.status.end->outcome == job::Outcome::kSucceeded;
}

OfDevice& DeviceOf(const std::string& name, base::JobId job, std::vector<OfDevice>* devices) {
  const auto found = std::ranges::find(*devices, name, &OfDevice::device_name);
  if (found != devices->end()) return *found;
  return devices->emplace_back(OfDevice{.device_name = name, .latest = job});
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
  bool is_disturbed = false;  // by other work on its hosts

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
  device.Of(run.is_disturbed).steps.push_back(run.Value(job::Metric::kStepSeconds));
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
                      const std::vector<std::vector<OfDevice>*>& asking) {
  const double load = run.Value(job::Metric::kLoadSeconds);
  if (asking.empty() || run.attempts != 1 || load <= 0) return base::Ok{};
  const auto loaded_at = LoadedAt(reader, job);
  if (!loaded_at) return loaded_at.error();
  const double since_placed =
      static_cast<double>(*loaded_at - run.attempt.row.placed_at) / kMicrosPerSecond;
  const double start = std::max(0.0, since_placed - load - run.Value(job::Metric::kTrialSeconds));
  for (std::vector<OfDevice>* devices : asking) {
    Taken& taken = DeviceOf(run.device_name(), job, devices).Of(run.is_disturbed);
    taken.loads.push_back(load);
    taken.starts.push_back(start);
  }
  return base::Ok{};
}

// nullopt: no rank of it has told of its device.
base::Result<std::optional<Run>> ReadRun(store::Reader& reader, const core::JobRow& job) {
  auto attempts = reader.Attempts(job.id);
  if (!attempts) return attempts.error();
  if (attempts->empty() || attempts->back().ranks.empty()) return std::optional<Run>();
  auto summaries = ReadSummaries(reader, job.id);
  if (!summaries) return summaries.error();
  const auto neighbours = reader.Neighbours(job.id);
  if (!neighbours) return neighbours.error();
  Run run{std::move(attempts->back()), static_cast<int64_t>(attempts->size()),
          std::move(*summaries)};
  run.is_disturbed = job::IsDisturbed({.device_name = run.device_name(),
                                       .exclusive = job.spec.exclusive,
                                       .neighbours = *neighbours,
                                       .metrics = run.summaries});
  return std::optional(std::move(run));
}

// What is asked for, and found so far.
struct Wanted {
  ByKey shapes, starts, models;  // with the keys that are asked for
  ByKey any = {{"", {}}};        // of the newest jobs: how any model started
  std::vector<OfDevice> powers;
  int64_t learned = 0;          // jobs
  int64_t of_models_alone = 0;  // that are asked for nothing nearer

  bool TakesOneOf(const std::string& model) {
    return models.contains(model) && of_models_alone++ < kMostNewest;
  }
};

base::Status Learn(store::Reader& reader, const store::StoredJob& job, Wanted& wanted) {
  const base::JobId id = job.row.id;
  const auto [shape, start, model] = KeysOf(job.row.spec, *job.row.inspection);
  const bool is_new = wanted.learned++ < kMostNewest;
  const bool is_near = wanted.shapes.contains(shape) || wanted.starts.contains(start);
  if (!is_new && !is_near && !wanted.TakesOneOf(model)) return base::Ok{};
  const auto run = ReadRun(reader, job.row);
  if (!run) return run.error();
  if (!*run) return base::Ok{};
  const std::string& device = (*run)->device_name();
  if (is_new) AddPower(**run, &DeviceOf(device, id, &wanted.powers));
  std::vector<OfDevice>* of_shape = Find(wanted.shapes, shape, device);
  if (of_shape != nullptr) AddSteps(**run, id, of_shape);
  std::vector<std::vector<OfDevice>*> of_start = {Find(wanted.starts, start, device),
                                                  Find(wanted.models, model, device)};
  if (is_new) of_start.push_back(Find(wanted.any, "", device));
  std::erase(of_start, nullptr);
  return AddStart(reader, **run, id, of_start);
}

// Of devices for which no nearer runs have told it.
void AddStarts(const std::vector<OfDevice>& devices, job::StartSource source,
               std::vector<job::EarlierStarts>* starts) {
  for (const OfDevice& device : devices) {
    const Taken& taken = device.taken();
    if (std::ranges::find(*starts, device.device_name, &job::EarlierStarts::device_name) ==
        starts->end()) {
      starts->push_back({device.device_name, job::Median(taken.starts).value_or(0),
                         job::Median(taken.loads).value_or(0), taken.runs(), source});
    }
  }
}

job::EarlierTimes Summarize(const RunKeys& keys, Wanted& wanted) {
  job::EarlierTimes times;
  for (const OfDevice& device : wanted.shapes[keys.shape]) {
    times.runs.push_back({device.device_name, job::Median(device.taken().steps).value_or(0),
                          device.taken().runs(), device.latest, job::Median(device.watts),
                          device.is_disturbed()});
  }
  AddStarts(wanted.starts[keys.start], job::StartSource::kAlike, &times.starts);
  AddStarts(wanted.models[keys.model], job::StartSource::kModel, &times.starts);
  AddStarts(wanted.any[""], job::StartSource::kOtherModels, &times.starts);
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

RunKeys KeysOf(const job::JobSpec& job, const job::Inspection& inspection) {
  return {job::ShapeKey(job, inspection), job::StartKey(job, inspection),
          job::ModelKey(inspection)};
}

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
    wanted.models[keys.model];
  }
  for (const store::StoredJob& job : *jobs) {
    if (!Succeeded(job) || !job.row.inspection || job.row.unreadable) continue;
    if (const auto learned = Learn(reader, job, wanted); !learned) return learned.error();
  }
  RunsFound found{.powers = PowersOf(wanted.powers)};
  for (const RunKeys& keys : asked) found.jobs.push_back(Summarize(keys, wanted));
  return found;
}

}  // namespace trainctl::coordinator
