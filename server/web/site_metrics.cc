#include "server/web/site_metrics.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "common/job/outcome.h"
#include "server/web/exposition.h"

namespace trainctl::web {
namespace {

// Of a GPU; no sample where its worker is not connected.
using Measure = std::optional<double> (*)(const core::Worker&, const job::DeviceSample*);

std::optional<double> MemoryBytes(const core::Worker& worker, const job::DeviceSample*) {
  return static_cast<double>(worker.row.device.memory_bytes);
}

std::optional<double> MemoryUsedBytes(const core::Worker&, const job::DeviceSample* sample) {
  if (sample == nullptr) return std::nullopt;
  return static_cast<double>(sample->memory_used_bytes);
}

std::optional<double> UtilizationRatio(const core::Worker&, const job::DeviceSample* sample) {
  if (sample == nullptr || !sample->utilization_percent) return std::nullopt;
  return *sample->utilization_percent / 100;
}

std::optional<double> PowerWatts(const core::Worker&, const job::DeviceSample* sample) {
  return sample == nullptr ? std::nullopt : sample->power_watts;
}

std::optional<double> TemperatureCelsius(const core::Worker&, const job::DeviceSample* sample) {
  return sample == nullptr ? std::nullopt : sample->temperature_celsius;
}

const job::DeviceSample* SampleOf(const coordinator::Coordinator& coordinator,
                                  const std::string& worker) {
  const auto session = coordinator.workers().all().find(worker);
  const bool is_there = session != coordinator.workers().all().end() && session->second.device;
  return is_there ? &*session->second.device : nullptr;
}

constexpr struct {
  std::string_view name, help;
  Measure measure;
} kGpuGauges[] = {
    {"trainctl_gpu_memory_bytes", "Memory of the GPU.", MemoryBytes},
    {"trainctl_gpu_memory_used_bytes", "Memory in use on the GPU, by whomever.", MemoryUsedBytes},
    {"trainctl_gpu_utilization_ratio", "Share of time in which the GPU computed.",
     UtilizationRatio},
    {"trainctl_gpu_power_watts", "Power that the GPU draws.", PowerWatts},
    {"trainctl_gpu_temperature_celsius", "Temperature of the GPU.", TemperatureCelsius},
};

void AddJobs(const store::JobCounts& jobs, Exposition* text) {
  text->Family("trainctl_jobs", "gauge", "Jobs by state.");
  for (int i = 0; i <= static_cast<int>(job::JobState::kFinished); ++i) {
    const auto state = static_cast<job::JobState>(i);
    const auto found = jobs.states.find(state);
    const int64_t count = found == jobs.states.end() ? 0 : found->second;
    text->Sample({{"state", std::string(job::Name(state))}}, static_cast<double>(count));
  }
  text->Family("trainctl_jobs_ended", "gauge", "Jobs of the store that have ended, by outcome.");
  for (const auto& [outcome, count] : jobs.outcomes)
    text->Sample({{"outcome", std::string(job::Name(outcome))}}, static_cast<double>(count));
}

// Outcomes without a job are told as well: a rate does not see a counter that begins at 1.
void AddEnds(const coordinator::RecentEnds& ends, Exposition* text) {
  text->Family("trainctl_job_ends_total", "counter",
               "Jobs that have ended since the coordinator started, by outcome.");
  for (int i = 0; i <= static_cast<int>(job::Outcome::kLaunchFailed); ++i) {
    const auto outcome = static_cast<job::Outcome>(i);
    const auto found = ends.counts().find(outcome);
    text->Sample({{"outcome", std::string(job::Name(outcome))}},
                 found == ends.counts().end() ? 0 : static_cast<double>(found->second));
  }
}

void AddQueue(const coordinator::Coordinator& coordinator, Exposition* text) {
  int64_t length = 0, devices = 0;
  const base::WallMicros now = coordinator.Now().wall;
  base::WallMicros oldest = now;
  for (const auto& [id, job] : coordinator.state().jobs) {
    if (job.status.state != job::JobState::kQueued) continue;
    ++length;
    devices += job.row.spec.devices;
    oldest = std::min(oldest, job.row.submitted_at);
  }
  text->Family("trainctl_queue_length", "gauge", "Jobs that wait for devices.");
  text->Sample({}, static_cast<double>(length));
  text->Family("trainctl_queue_devices", "gauge", "Devices that those jobs wait for.");
  text->Sample({}, static_cast<double>(devices));
  text->Family("trainctl_queue_oldest_seconds", "gauge", "How long the oldest of them waits.");
  text->Sample({}, static_cast<double>(now - oldest) / 1e6);
}

void AddDevices(const coordinator::Coordinator& coordinator, Exposition* text) {
  const core::State& state = coordinator.state();
  std::map<std::string_view, int64_t> states;
  for (const job::WorkerState one : job::kWorkerStates) states[Name(one)] = 0;
  for (const auto& [name, worker] : state.workers) ++states[Name(core::StateOf(state, worker))];
  text->Family("trainctl_devices", "gauge", "Devices of the inventory by state.");
  for (const auto& [name, count] : states)
    text->Sample({{"state", std::string(name)}}, static_cast<double>(count));

  for (const auto& gauge : kGpuGauges) {
    text->Family(gauge.name, "gauge", gauge.help);
    int left = kMaxWorkers;
    for (const auto& [name, worker] : state.workers) {
      if (worker.row.device.kind != job::DeviceKind::kCuda) continue;
      if (left-- == 0) break;
      const auto value = gauge.measure(worker, SampleOf(coordinator, name));
      if (value) text->Sample({{"worker", name}}, *value);
    }
  }
}

// By XID, so that an alert can name it.
void AddFaults(const coordinator::Coordinator& coordinator, Exposition* text) {
  text->Family("trainctl_device_fault", "gauge",
               "1 for each XID that a device's driver told of, by class; cleared ones left out.");
  int left = kMaxWorkers;
  for (const auto& [worker, faults] : coordinator.state().faults) {
    if (left-- == 0) break;
    for (const auto& [xid, fault] : faults) {
      if (fault.cleared) continue;
      text->Sample({{"worker", worker},
                    {"xid", std::to_string(xid)},
                    {"class", std::string(Name(job::ClassOf(xid)))}},
                   1);
    }
  }
}

void AddSlow(const coordinator::Coordinator& coordinator, Exposition* text) {
  text->Family("trainctl_device_slow_ratio", "gauge",
               "Of a device that was slower than its gang: its work's time to the others'.");
  int left = kMaxWorkers;
  for (const auto& [worker, slow] : coordinator.state().slow) {
    if (left-- == 0) break;
    text->Sample({{"worker", worker}}, slow.ratio);
  }
}

// Every worker of a host tells of it: the first one's word counts.
void AddHosts(const coordinator::Coordinator& coordinator, Exposition* text) {
  std::map<std::string, job::HostSample> hosts;
  const auto& sessions = coordinator.workers().all();
  for (const auto& [name, worker] : coordinator.state().workers) {
    const auto session = sessions.find(name);
    if (session == sessions.end() || !session->second.host) continue;
    if (hosts.size() < kMaxWorkers) hosts.emplace(worker.row.host, *session->second.host);
  }
  text->Family("trainctl_host_cpu_ratio", "gauge", "Share of the host's cores that work.");
  for (const auto& [host, sample] : hosts) text->Sample({{"host", host}}, sample.cpu_percent / 100);
  text->Family("trainctl_host_memory_used_bytes", "gauge", "Memory in use on the host.");
  for (const auto& [host, sample] : hosts)
    text->Sample({{"host", host}}, static_cast<double>(sample.memory_used_bytes));
  text->Family("trainctl_host_memory_bytes", "gauge", "Memory of the host.");
  for (const auto& [host, sample] : hosts)
    text->Sample({{"host", host}}, static_cast<double>(sample.memory_total_bytes));
}

// Only RPCs that were called: a site uses few of them.
void AddCalls(const meters::Meters& meters, int64_t refused, Exposition* text) {
  text->Family("trainctl_rpc_total", "counter", "Calls that have ended, by how.");
  for (const auto& [rpc, call] : meters.calls()) {
    for (size_t end = 0; end < meters::kCallEnds.size(); ++end) {
      const int64_t count = call.ended[end];
      if (count == 0) continue;
      text->Sample({{"rpc", std::string(rpc)}, {"code", std::string(meters::kCallEnds[end])}},
                   static_cast<double>(count));
    }
  }
  text->Family("trainctl_rpc_seconds", "histogram", "From a call's arrival to its answer.");
  for (const auto& [rpc, call] : meters.calls()) {
    const meters::Histogram::Counts counts = call.seconds.Read();
    if (counts.all() > 0) text->Samples({{"rpc", std::string(rpc)}}, counts);
  }
  text->Family("trainctl_calls_refused_total", "counter",
               "Calls and requests of users who called too often.");
  text->Sample({}, static_cast<double>(refused));
}

void AddStore(const meters::Meters& meters, Exposition* text) {
  text->Family("trainctl_store_commit_seconds", "histogram", "How long a commit takes.");
  text->Samples({}, meters.commits().Read());
  text->Family("trainctl_store_commit_failures_total", "counter", "Commits that the disk refused.");
  text->Sample({}, static_cast<double>(meters.failed_commits()));
}

void AddClock(const coordinator::Coordinator& coordinator, Exposition* text) {
  text->Family("trainctl_clock_jumps_total", "counter",
               "How often the coordinator's clock was set by 5 s or more.");
  text->Sample({}, static_cast<double>(coordinator.clock_jumps()));
}

}  // namespace

std::string SiteMetrics(const MetricsSource& source) {
  Exposition text;
  text.Family("trainctl_build_info", "gauge", "1, with the coordinator's version.");
  text.Sample({{"version", source.version}}, 1);
  AddJobs(source.jobs, &text);
  AddEnds(source.coordinator.ends(), &text);
  AddQueue(source.coordinator, &text);
  AddDevices(source.coordinator, &text);
  AddFaults(source.coordinator, &text);
  AddSlow(source.coordinator, &text);
  AddHosts(source.coordinator, &text);
  AddCalls(source.meters, source.refused_calls, &text);
  AddStore(source.meters, &text);
  AddClock(source.coordinator, &text);
  return text.text();
}

}  // namespace trainctl::web
