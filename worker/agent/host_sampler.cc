#include "worker/agent/host_sampler.h"

#include <algorithm>
#include <optional>
#include <sstream>
#include <utility>

#include "common/base/file.h"
#include "common/base/number_file.h"

namespace trainctl::agent {
namespace {

constexpr size_t kMaxBytes = 1 << 20;

struct Memory {
  int64_t used = 0;
  int64_t total = 0;
};

Memory ReadMeminfo(const std::string& path) {
  const base::Result<std::string> text = base::ReadFile(path, kMaxBytes);
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

}  // namespace

HostSampler::HostSampler(HostFiles files) : files_(std::move(files)) { Sample(); }

HostSample HostSampler::Sample() {
  HostSample sample;
  const base::Result<std::string> stat = base::ReadFile(files_.proc + "/stat", kMaxBytes);
  std::istringstream line(stat ? *stat : "");
  std::string cpu;
  line >> cpu;
  int64_t all = 0, idle = 0, ticks = 0;
  for (int column = 0; column < 8 && line >> ticks;
       ++column) {  // user nice system idle iowait irq softirq steal
    all += ticks;
    if (column == 3 || column == 4) idle += ticks;
  }
  const int64_t passed = all - std::exchange(all_ticks_, all);
  const int64_t busy = all - idle - std::exchange(busy_ticks_, all - idle);
  if (passed > 0)
    sample.cpu_percent =
        std::clamp(100.0 * static_cast<double>(busy) / static_cast<double>(passed), 0.0, 100.0);

  Memory memory = ReadMeminfo(files_.proc + "/meminfo");
  const std::string &v2 = files_.cgroup_v2, &v1 = files_.cgroup_v1;
  memory = Within(memory, base::ReadNumberFile(v2 + "/memory.max"),
                  base::ReadNumberFile(v2 + "/memory.current"));
  memory = Within(memory, base::ReadNumberFile(v1 + "/memory.limit_in_bytes"),
                  base::ReadNumberFile(v1 + "/memory.usage_in_bytes"));
  sample.memory_used_bytes = memory.used;
  sample.memory_total_bytes = memory.total;
  return sample;
}

}  // namespace trainctl::agent
