// This host's CPU and memory from /proc, and where this process runs in a container with a memory
// limit, from its cgroup. Not thread-safe.
#pragma once

#include <cstdint>
#include <string>

namespace trainctl::agent {

struct HostSample {
  double cpu_percent = 0;  // of all cores, since the sample before
  int64_t memory_used_bytes = 0;
  int64_t memory_total_bytes = 0;
};

// Where to read; tests give folders of their own.
struct HostFiles {
  std::string proc = "/proc";
  std::string cgroup_v2 = "/sys/fs/cgroup";  // memory.max and memory.current of this container
  std::string cgroup_v1 =
      "/sys/fs/cgroup/memory";  // memory.limit_in_bytes and memory.usage_in_bytes
};

class HostSampler {
 public:
  explicit HostSampler(HostFiles files = {});
  HostSample Sample();

 private:
  const HostFiles files_;
  int64_t busy_ticks_ = 0;
  int64_t all_ticks_ = 0;
};

}  // namespace trainctl::agent
