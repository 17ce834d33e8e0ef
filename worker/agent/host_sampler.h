// This host's CPU and memory from /proc. If a container has a CPU quota or a memory limit, that
// share counts, as its cgroup has it. Not thread-safe.
#pragma once

#include <cstdint>
#include <string>

#include "common/job/samples.h"

namespace trainctl::agent {

// Where to read; tests give folders of their own.
struct HostFiles {
  std::string proc = "/proc";
  std::string cgroup_v2 = "/sys/fs/cgroup";  // of this container: memory.max and memory.current,
                                             // cpu.max and cpu.stat
  std::string cgroup_v1 =
      "/sys/fs/cgroup/memory";  // memory.limit_in_bytes and memory.usage_in_bytes
  std::string cgroup_v1_cpu =
      "/sys/fs/cgroup/cpu,cpuacct";  // cpu.cfs_quota_us, cpu.cfs_period_us and cpuacct.usage
};

class HostSampler {
 public:
  explicit HostSampler(HostFiles files = {});
  job::HostSample Sample();
  int64_t MemoryBytes() const;  // all that there is; 0: not known

 private:
  void SampleCpus();

  const HostFiles files_;
  int64_t busy_ticks_ = 0;
  int64_t all_ticks_ = 0;
  int64_t used_micros_ = 0;  // of the container with a quota
  double cpu_percent_ = 0;
  double cpus_ = 0;
};

}  // namespace trainctl::agent
