#include "worker/agent/host_sampler.h"

#include <unistd.h>

#include <algorithm>
#include <optional>
#include <sstream>
#include <utility>

#include "common/base/file.h"
#include "common/base/number_file.h"

namespace trainctl::agent {
namespace {

constexpr size_t kMaxFileBytes = 1 << 20;

struct Memory {
  int64_t used = 0;
  int64_t total = 0;
};

Memory ReadMeminfo(const std::string& path) {
  const base::Result<std::string> text = base::ReadFile(path, kMaxFileBytes);
  std::istringstream lines(text ? *text : "");
  int64_t total = 0, available = 0;
  std::string key, unit;
  for (int64_t value = 0; lines >> key >> value; std::getline(lines, unit)) {
    if (key == "MemTotal:") total = value * 1024;
    if (key == "MemAvailable:") available = value * 1024;
  }
  return {total - available, total};
}

// Where the container's limit is below the host's memory, that is what counts here.
Memory Within(const Memory& host, std::optional<int64_t> limit, std::optional<int64_t> used) {
  if (!limit || !used || *limit <= 0 || *limit >= host.total) return host;
  return {std::min(*used, *limit), *limit};
}

struct HostTicks {
  int64_t all = 0;  // of all cores together
  int64_t busy = 0;
  int64_t cores = 0;
};

HostTicks ReadTicks(const std::string& path) {
  const base::Result<std::string> text = base::ReadFile(path, kMaxFileBytes);
  std::istringstream lines(text ? *text : "");
  HostTicks host;
  std::string line, cpu;
  std::getline(lines, line);
  std::istringstream total(line);
  total >> cpu;
  int64_t ticks = 0;
  for (int column = 0; column < 8 && total >> ticks;
       ++column) {  // user nice system idle iowait irq softirq steal
    host.all += ticks;
    if (column != 3 && column != 4) host.busy += ticks;
  }
  while (std::getline(lines, line) && line.starts_with("cpu")) ++host.cores;
  return host;
}

// A container's share of the host's cores, and what it has used of it.
struct CpuShare {
  double cores = 0;
  int64_t used_micros = 0;
};

std::optional<CpuShare> MakeShare(double quota_micros, double period_micros, int64_t used_micros) {
  if (quota_micros <= 0 || period_micros <= 0) return std::nullopt;
  return CpuShare{quota_micros / period_micros, used_micros};
}

// cpu.max: "200000 100000", or "max 100000" where there is no quota.
std::optional<CpuShare> ReadShare(const std::string& folder) {
  const base::Result<std::string> max = base::ReadFile(folder + "/cpu.max", kMaxFileBytes);
  const base::Result<std::string> stat = base::ReadFile(folder + "/cpu.stat", kMaxFileBytes);
  if (!max || !stat) return std::nullopt;
  double quota = 0, period = 0;
  if (!(std::istringstream(*max) >> quota >> period)) return std::nullopt;
  std::istringstream lines(*stat);
  std::string key;
  for (int64_t value = 0; lines >> key >> value;) {
    if (key == "usage_usec") return MakeShare(quota, period, value);
  }
  return std::nullopt;
}

// cpu.cfs_quota_us: -1 where there is no quota.
std::optional<CpuShare> ReadShareV1(const std::string& folder) {
  const std::optional<int64_t> quota = base::ReadNumberFile(folder + "/cpu.cfs_quota_us");
  const std::optional<int64_t> period = base::ReadNumberFile(folder + "/cpu.cfs_period_us");
  const std::optional<int64_t> used_nanos = base::ReadNumberFile(folder + "/cpuacct.usage");
  if (!quota || !period || !used_nanos) return std::nullopt;
  return MakeShare(static_cast<double>(*quota), static_cast<double>(*period), *used_nanos / 1000);
}

Memory ReadMemory(const HostFiles& files) {
  const std::string &v2 = files.cgroup_v2, &v1 = files.cgroup_v1;
  const Memory within =
      Within(ReadMeminfo(files.proc + "/meminfo"), base::ReadNumberFile(v2 + "/memory.max"),
             base::ReadNumberFile(v2 + "/memory.current"));
  return Within(within, base::ReadNumberFile(v1 + "/memory.limit_in_bytes"),
                base::ReadNumberFile(v1 + "/memory.usage_in_bytes"));
}

double Percent(double part, double whole) { return std::clamp(100.0 * part / whole, 0.0, 100.0); }

}  // namespace

HostSampler::HostSampler(HostFiles files) : files_(std::move(files)) { Sample(); }

// Of what is there to be used since the sample before.
void HostSampler::SampleCpus() {
  const HostTicks ticks = ReadTicks(files_.proc + "/stat");
  const int64_t passed = ticks.all - std::exchange(all_ticks_, ticks.all);
  const int64_t busy = ticks.busy - std::exchange(busy_ticks_, ticks.busy);
  const std::optional<CpuShare> v2 = ReadShare(files_.cgroup_v2);
  const std::optional<CpuShare> share = v2 ? v2 : ReadShareV1(files_.cgroup_v1_cpu);
  const int64_t used =
      share ? share->used_micros - std::exchange(used_micros_, share->used_micros) : 0;
  if (ticks.cores <= 0) return;
  const auto cores = static_cast<double>(ticks.cores);
  const bool is_bound = share && share->cores < cores;
  cpus_ = is_bound ? share->cores : cores;
  if (passed <= 0) return;
  if (!is_bound) {
    cpu_percent_ = Percent(static_cast<double>(busy), static_cast<double>(passed));
    return;
  }
  const double passed_micros =
      static_cast<double>(passed) / cores * 1e6 / static_cast<double>(::sysconf(_SC_CLK_TCK));
  cpu_percent_ = Percent(static_cast<double>(used) / share->cores, passed_micros);
}

job::HostSample HostSampler::Sample() {
  SampleCpus();
  const Memory memory = ReadMemory(files_);
  return {.cpu_percent = cpu_percent_,
          .memory_used_bytes = memory.used,
          .memory_total_bytes = memory.total,
          .cpus = cpus_};
}

int64_t HostSampler::MemoryBytes() const { return ReadMemory(files_).total; }

}  // namespace trainctl::agent
