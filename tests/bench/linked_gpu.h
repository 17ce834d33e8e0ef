// GPUs of the benches' hosts, as workers tell of them.
#pragma once

#include <cstdint>
#include <string>

#include "common/job/site.h"

namespace trainctl::core {

// NVLink joins the GPU to each other one of its host, whose halves are NUMA nodes. `number` counts
// over all hosts.
inline void LinkWithinHost(int64_t number, int64_t devices_per_host, job::Device* gpu) {
  gpu->uuid = "GPU-" + std::to_string(number);
  gpu->numa_node = gpu->index / (devices_per_host / 2);
  const int64_t first = number - gpu->index;
  for (int64_t peer = first; peer < first + devices_per_host; ++peer) {
    if (peer != number) gpu->links["GPU-" + std::to_string(peer)] = job::LinkKind::kNvlink;
  }
}

}  // namespace trainctl::core
