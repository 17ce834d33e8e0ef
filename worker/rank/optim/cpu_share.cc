#include "worker/rank/optim/cpu_share.h"

#include <cuda_runtime_api.h>
#include <sched.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <sstream>

#include "common/base/file.h"

namespace trainctl::optim {
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

CpuTopology ReadTopology() {
  CpuTopology topology{AllowedCpus(), {}};
  std::error_code error;
  for (const fs::directory_entry& entry :
       fs::directory_iterator("/sys/devices/system/node", error)) {
    const std::string name = entry.path().filename().string();
    if (name.rfind("node", 0) != 0 || name.size() == 4 ||
        std::isdigit(static_cast<unsigned char>(name[4])) == 0)
      continue;
    const auto list = base::ReadFile(entry.path().string() + "/cpulist", kMaxBytes);
    if (!list) continue;
    for (const int cpu : ParseCpuList(*list)) topology.node_of[cpu] = std::stoi(name.substr(4));
  }
  return topology;
}

int NodeOfCpu(const CpuTopology& topology, int cpu) {
  const auto found = topology.node_of.find(cpu);
  return found == topology.node_of.end() ? 0 : found->second;
}

}  // namespace

const CpuTopology& HostTopology() {
  static const CpuTopology topology = ReadTopology();
  return topology;
}

std::vector<int> ParseCpuList(const std::string& text) {
  std::vector<int> cpus;
  std::istringstream stream(text);
  int first = 0;
  while (stream >> first) {
    int last = first;
    if (stream.peek() == '-' && !(stream.ignore() >> last)) break;
    for (int cpu = first; cpu <= last; ++cpu) cpus.push_back(cpu);
    if (stream.peek() != ',') break;
    stream.ignore();
  }
  return cpus;
}

std::optional<int> NodeOf(c10::Device device) {
  if (!device.is_cuda()) return std::nullopt;
  char id[32] = "";
  if (cudaDeviceGetPCIBusId(id, sizeof id, device.index()) != cudaSuccess) return std::nullopt;
  std::string name = id;
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const auto text = base::ReadFile("/sys/bus/pci/devices/" + name + "/numa_node", kMaxBytes);
  if (!text) return std::nullopt;
  std::istringstream stream(*text);
  int node = -1;
  return stream >> node && node >= 0 ? std::optional(node) : std::nullopt;
}

std::vector<int> NearbyCpus(const CpuTopology& topology, std::optional<int> node) {
  std::vector<int> cpus;
  for (const int cpu : topology.allowed) {
    if (node && NodeOfCpu(topology, cpu) == *node) cpus.push_back(cpu);
  }
  return cpus.empty() ? topology.allowed : cpus;
}

std::vector<int> ShareOf(const CpuTopology& topology, std::optional<int> node, int64_t place,
                         int64_t threads) {
  std::vector<int> cpus = NearbyCpus(topology, node);
  if (static_cast<int64_t>(cpus.size()) < threads) cpus = topology.allowed;
  if (threads < 1 || static_cast<int64_t>(cpus.size()) < threads) return {};
  std::stable_sort(cpus.begin(), cpus.end(),
                   [&](int a, int b) { return NodeOfCpu(topology, a) < NodeOfCpu(topology, b); });
  const auto count = static_cast<int64_t>(cpus.size());
  std::rotate(cpus.begin(), cpus.begin() + place * threads % count, cpus.end());
  cpus.resize(static_cast<size_t>(threads));
  return cpus;
}

void BindThisThread(const std::vector<int>& cpus) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : cpus) CPU_SET(cpu, &set);
  sched_setaffinity(0, sizeof set, &set);
}

}  // namespace trainctl::optim
