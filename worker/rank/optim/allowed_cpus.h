// How many CPUs this thread, and what it starts, may run on: at least 1. Thread-safe.
#pragma once

#include <sched.h>

#include <algorithm>
#include <cstdint>

namespace trainctl::optim {

inline int64_t AllowedCpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  sched_getaffinity(0, sizeof set, &set);
  return std::max<int64_t>(1, CPU_COUNT(&set));
}

}  // namespace trainctl::optim
