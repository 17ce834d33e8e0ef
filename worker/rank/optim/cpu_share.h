// Which CPUs of the host belong to a rank: the optimizer's threads, and the memory that they touch
// first, stay on them. Thread-safe.
#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace trainctl::optim {

struct CpuTopology {
  std::vector<int> allowed;    // by this process's affinity mask
  std::map<int, int> node_of;  // NUMA node of each CPU; a CPU that is missing is on node 0
};

// The mask and /sys/devices/system/node; as the process began, whatever its threads bound
// themselves to since.
const CpuTopology& HostTopology();

// "0-3,8,10-11" → 0 1 2 3 8 10 11; what is not understood ends the list.
std::vector<int> ParseCpuList(const std::string& text);

// The NUMA node that the GPU hangs on; nullopt on CPU slots, and where the system does not say.
std::optional<int> NodeOf(c10::Device device);

// The allowed CPUs on the device's node; all allowed ones where it has none, or none there.
std::vector<int> NearbyCpus(const CpuTopology& topology, std::optional<int> node);

// `threads` CPUs for the device at this place of the host. They are disjoint from its neighbours'
// shares if those ask for as many. They lie on the given node if that has enough. If there are too
// few CPUs for all devices, shares overlap as little as they can. Empty (do not bind) if fewer than
// `threads` CPUs are allowed. Pure.
std::vector<int> ShareOf(const CpuTopology& topology, std::optional<int> node, int64_t place,
                         int64_t threads);

// A refusal of the operating system is ignored: the thread runs wherever it may.
void BindThisThread(const std::vector<int>& cpus);

}  // namespace trainctl::optim
