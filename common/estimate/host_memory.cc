#include "common/estimate/host_memory.h"

#include <algorithm>
#include <map>

#include "common/base/size.h"
#include "common/estimate/fit.h"
#include "common/job/linked_gang.h"

namespace trainctl::job {
namespace {

struct Host {
  int64_t gpus = 0;  // that may have a rank
  int64_t bytes = 0;

  int64_t Room(int64_t rank_bytes) const {
    const double usable = kSafeShare * static_cast<double>(bytes);
    return std::min(gpus, static_cast<int64_t>(usable) / rank_bytes);
  }
};

std::map<std::string, Host> HostsOfGpus(const JobSpec& job, const std::vector<SiteDevice>& site) {
  std::map<std::string, Host> hosts;
  for (const size_t place : PossibleDevices(job, site)) {
    const SiteDevice& device = site[place];
    if (device.kind != DeviceKind::kCuda) continue;
    Host& host = hosts[device.host];
    ++host.gpus;
    host.bytes = std::max(host.bytes, device.host_memory_bytes);
  }
  return hosts;
}

}  // namespace

std::string HostShortage::Text() const {
  return "the optimizer in host memory takes " + base::FormatBytes(rank_bytes) +
         " a rank, and hosts of at most " + base::FormatBytes(host_bytes) + " have room for " +
         std::to_string(room) + " of its " + std::to_string(ranks) +
         (ranks == 1 ? " rank" : " ranks");
}

std::optional<HostShortage> FindHostShortage(const JobSpec& job, const MemoryEstimate& on_gpu,
                                             const std::vector<SiteDevice>& devices) {
  HostShortage shortage{.rank_bytes = on_gpu.phases.front().optimizer_cpu, .ranks = job.devices};
  if (shortage.rank_bytes <= 0) return std::nullopt;
  const std::map<std::string, Host> hosts = HostsOfGpus(job, devices);
  for (const auto& [name, host] : hosts) {
    if (host.bytes <= 0) return std::nullopt;
    shortage.room += host.Room(shortage.rank_bytes);
    shortage.host_bytes = std::max(shortage.host_bytes, host.bytes);
  }
  if (hosts.empty() || shortage.room >= shortage.ranks) return std::nullopt;
  return shortage;
}

std::vector<Problem> CheckHostMemory(const JobSpec& job, const Inspection& inspection,
                                     const std::vector<SiteDevice>& devices) {
  if (!job.offload_optimizer || job.expect == Expect::kOom) return {};
  const std::optional<Fit> fit = BestFit(job, inspection, devices);
  if (fit && fit->kind != DeviceKind::kCuda) return {};
  const MemoryEstimate memory = EstimateMemory(job, inspection, DeviceKind::kCuda);
  const std::optional<HostShortage> shortage = FindHostShortage(job, memory, devices);
  if (!shortage) return {};
  return {{"offload_optimizer", 0, "true", "hosts with memory for the optimizer of each rank",
           shortage->Text() + "; to submit it all the same: --force"}};
}

}  // namespace trainctl::job
