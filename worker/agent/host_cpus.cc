#include "worker/agent/host_cpus.h"

#include <sched.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <string>

#include "common/base/file.h"
#include "common/base/number_file.h"
#include "common/base/parse_number.h"
#include "common/rank/cpu_list.h"

namespace trainctl::agent {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxBytes = 1 << 16;

std::vector<int> AllowedCpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cpus;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  }
  return cpus;
}

int NodeOfCpu(const HostCpus& host, int cpu) {
  const auto found = host.node_of.find(cpu);
  return found == host.node_of.end() ? 0 : found->second;
}

// By node; within one in order.
std::map<int, std::vector<int>> CpusByNode(const HostCpus& host) {
  std::map<int, std::vector<int>> by_node;
  for (const int cpu : host.allowed) by_node[NodeOfCpu(host, cpu)].push_back(cpu);
  return by_node;
}

// In contiguous pieces whose sizes differ by one at most, each added to its owner's share.
void Deal(const std::vector<int>& cpus, const std::vector<size_t>& owners,
          std::vector<std::vector<int>>& shares) {
  const size_t count = owners.size();
  for (size_t i = 0; i < count; ++i) {
    std::vector<int>& share = shares[owners[i]];
    if (cpus.size() < count) {
      share.push_back(cpus[i % cpus.size()]);
    } else {
      share.insert(share.end(), cpus.begin() + static_cast<int64_t>(i * cpus.size() / count),
                   cpus.begin() + static_cast<int64_t>((i + 1) * cpus.size() / count));
    }
  }
}

std::vector<size_t> AllOf(size_t count) {
  std::vector<size_t> all(count);
  for (size_t i = 0; i < count; ++i) all[i] = i;
  return all;
}

// The devices on the node; all of them where it has none.
std::vector<size_t> OwnersOf(int node, const std::vector<NumaNode>& devices) {
  std::vector<size_t> owners;
  for (size_t i = 0; i < devices.size(); ++i) {
    if (devices[i] == node) owners.push_back(i);
  }
  return owners.empty() ? AllOf(devices.size()) : owners;
}

std::vector<NumaNode> NodesOf(const std::vector<int64_t>& numbers,
                              const std::vector<NumaNode>& devices) {
  std::vector<NumaNode> nodes;
  for (const int64_t number : numbers) {
    const bool is_known = number >= 0 && number < static_cast<int64_t>(devices.size());
    nodes.push_back(is_known ? devices[static_cast<size_t>(number)] : std::nullopt);
  }
  return nodes;
}

}  // namespace

HostCpus ReadHostCpus() {
  HostCpus host{AllowedCpus(), {}};
  std::error_code error;
  for (const fs::directory_entry& entry :
       fs::directory_iterator("/sys/devices/system/node", error)) {
    const std::string name = entry.path().filename().string();
    const std::optional<int64_t> node = name.starts_with("node")
                                            ? base::ParseNumber(std::string_view(name).substr(4))
                                            : std::nullopt;
    if (!node) continue;
    const auto list = base::ReadFile(entry.path().string() + "/cpulist", kMaxBytes);
    if (!list) continue;
    for (const int cpu : job::ParseCpuList(*list)) host.node_of[cpu] = static_cast<int>(*node);
  }
  return host;
}

// sysfs writes four digits of the domain, where NVML writes eight.
std::optional<int> NodeOfPciDevice(std::string_view address) {
  const size_t colon = address.find(':');
  if (colon == std::string_view::npos || colon < 4) return std::nullopt;
  std::string name(address.substr(colon - 4));
  std::ranges::transform(name, name.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const auto node = base::ReadNumberFile("/sys/bus/pci/devices/" + name + "/numa_node");
  return node && *node >= 0 ? std::optional(static_cast<int>(*node)) : std::nullopt;  // −1: none
}

std::vector<std::vector<int>> ShareOut(const HostCpus& host, const std::vector<NumaNode>& devices) {
  std::vector<std::vector<int>> shares(devices.size());
  const std::map<int, std::vector<int>> by_node = CpusByNode(host);
  const bool all_have_cpus_near = std::ranges::all_of(
      devices, [&](const NumaNode& node) { return node && by_node.contains(*node); });
  if (all_have_cpus_near) {
    for (const auto& [node, cpus] : by_node) Deal(cpus, OwnersOf(node, devices), shares);
    return shares;
  }
  std::vector<int> cpus;
  for (const auto& [node, of_node] : by_node)
    cpus.insert(cpus.end(), of_node.begin(), of_node.end());
  if (!cpus.empty()) Deal(cpus, AllOf(devices.size()), shares);
  return shares;
}

std::vector<int> CpusOf(const job::RankPlan& plan, int64_t device_number, const HostCpus& host,
                        const std::vector<NumaNode>& devices) {
  const std::vector<NumaNode>& sharers =
      plan.job.exclusive ? NodesOf(plan.host_devices, devices) : devices;
  const int64_t place = plan.job.exclusive ? plan.host_place : device_number;
  if (sharers.empty() || place < 0) return {};
  return ShareOut(host, sharers)[static_cast<size_t>(place) % sharers.size()];
}

}  // namespace trainctl::agent
