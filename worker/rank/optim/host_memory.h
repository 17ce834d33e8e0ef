// How much more memory this process may take: the host's, or what its cgroup leaves. Thread-safe.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace trainctl::optim {

// The rank's outcome is OOM_HOST.
class HostMemoryError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Where the kernel tells; other folders in tests.
struct MemoryFiles {
  std::string proc = "/proc";
  std::string cgroup = "/sys/fs/cgroup";
};

struct AvailableMemory {
  int64_t bytes = 0;
  std::string bound;  // what it is bounded by: "the host's available memory", or a limit's file
};

// The least of MemAvailable and limit − usage of the process's own memory cgroup and each above it
// (v1 and v2). Pages of files do not count as used: they are given back under pressure. INT64_MAX
// if nothing is known.
AvailableMemory AvailableHostMemory(const MemoryFiles& files = {});

// Throws HostMemoryError, which names the bytes needed and available, where `bytes` and a small
// reserve are more than there is.
void RequireHostMemory(int64_t bytes, const std::string& what, const MemoryFiles& files = {});

}  // namespace trainctl::optim
