#include "worker/rank/process/cpu_binding.h"

#include <sched.h>

#include "common/rank/cpu_list.h"

namespace trainctl::train {

void BindToCpus(const std::string& cpus) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : job::ParseCpuList(cpus)) {
    if (cpu < CPU_SETSIZE) CPU_SET(cpu, &set);
  }
  if (CPU_COUNT(&set) > 0) sched_setaffinity(0, sizeof set, &set);
}

}  // namespace trainctl::train
