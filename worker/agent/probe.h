// Whether this host is fit for training, for `trainctl doctor`: facts, and a verdict on each in
// plain words. One JSON object:
//   host, cores, memory_bytes
//   cgroup          "v2" | "v1" | "none"
//   cgroup_leaf     whether ranks get a leaf of their own
//   shm_bytes
//   limits          {memlock_bytes, nofile}; -1: unlimited
//   driver          null: none
//   gpus            [{index, uuid, name, memory_bytes, memory_used_bytes, compute_capability, bf16,
//                   unfit, processes [{pid, memory_bytes}]}]
//                   unfit: why no worker can use it (driver, capability); empty: it is fit
//   links           [{from, to, link}]
//   checks          [{name, verdict, text}]; verdict: ok | warning | failure
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "worker/agent/gpu_library.h"

namespace trainctl::agent {

struct HostFacts {
  std::string host;
  int64_t cores = 0;
  int64_t memory_bytes = 0;
  std::string cgroup;
  bool cgroup_leaf = false;
  int64_t shm_bytes = 0;
  int64_t memlock_bytes = 0;  // -1: unlimited
  int64_t nofile = 0;         // -1: unlimited
};

// Of this host.
HostFacts ReadHostFacts();

// Pure but for what the library answers. An error of `gpus` is a host without usable GPUs, and why.
std::string Probe(const HostFacts& host, const base::Result<std::unique_ptr<GpuLibrary>>& gpus);

}  // namespace trainctl::agent
