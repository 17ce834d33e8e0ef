// Which CPUs of the host a rank runs on. Every worker of the host knows by itself what shares
// follow from: the host's CPUs, its GPUs, a slot's threads. So they stay while jobs and workers
// come and go: no two devices share a CPU where there is one for each. GPUs and CPU slots on one
// host are two sets, each with all CPUs.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "common/rank/rank_plan.h"

namespace trainctl::agent {

struct HostCpus {
  std::vector<int> allowed;    // by this process's affinity mask, which its cpuset bounds
  std::map<int, int> node_of;  // NUMA node of each CPU; a CPU that is missing is on node 0
};

// The mask and /sys/devices/system/node.
HostCpus ReadHostCpus();

// The NUMA node of a PCI device by its address, "00000000:1A:00.0" as NVML writes it; nullopt where
// the system does not say.
std::optional<int> NodeOfPciDevice(std::string_view address);

using NumaNode = std::optional<int>;

// The allowed CPUs shared out among as many devices as nodes are given: each node's CPUs among its
// devices, in order; those of a node without devices among all. If the node of any device is not
// known: all CPUs in order of their nodes among all devices. With fewer CPUs than devices, each
// device has one, as few devices as possible the same. Pure.
std::vector<std::vector<int>> ShareOut(const HostCpus& host, const std::vector<NumaNode>& devices);

// What the rank of this plan may use: its device's share among all devices of the host of that
// kind, by number; of an exclusive job, its share among the job's ranks on the host. Empty: any
// CPU, where none is known. Pure.
std::vector<int> CpusOf(const job::RankPlan& plan, int64_t device_number, const HostCpus& host,
                        const std::vector<NumaNode>& devices);

}  // namespace trainctl::agent
