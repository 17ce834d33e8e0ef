#include "worker/agent/probe.h"

#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "common/base/size.h"
#include "worker/agent/device.h"
#include "worker/agent/host_sampler.h"
#include "worker/agent/idle_baseline.h"
#include "worker/shim/cgroup_leaf.h"

namespace trainctl::agent {
namespace {

using nlohmann::json;

constexpr int64_t kLeastShmBytes = int64_t{1}
                                   << 30;  // NCCL puts its buffers between processes there
constexpr int64_t kLeastFiles = 4096;
constexpr int64_t kLeastMemlockBytes =
    int64_t{1} << 30;  // pinned host memory of NCCL and of the CPU optimizer

int64_t Limit(int resource) {
  rlimit limit = {};
  ::getrlimit(static_cast<__rlimit_resource>(resource), &limit);
  return limit.rlim_cur == RLIM_INFINITY ? -1 : static_cast<int64_t>(limit.rlim_cur);
}

bool CanMakeLeaf(const std::string& parent) {
  const auto leaf =
      shim::CgroupLeaf::Create(parent, "trainctl-probe-" + std::to_string(::getpid()));
  if (leaf) leaf->Remove();
  return leaf.has_value();
}

json Check(const std::string& name, const char* verdict, const std::string& text) {
  return {{"name", name}, {"verdict", verdict}, {"text", text}};
}

json CheckLeast(const char* name, int64_t value, int64_t least, const std::string& good,
                const std::string& bad) {
  return value < 0 || value >= least ? Check(name, "ok", good) : Check(name, "warning", bad);
}

json CheckHost(const HostFacts& host) {
  json checks = json::array();
  checks.push_back(CheckLeast(
      "/dev/shm", host.shm_bytes, kLeastShmBytes,
      "/dev/shm has " + base::FormatBytes(host.shm_bytes),
      "/dev/shm has only " + base::FormatBytes(host.shm_bytes) +
          ": NCCL between GPUs of this host may fail; give the container --shm-size=1g or more"));
  checks.push_back(CheckLeast("open files", host.nofile, kLeastFiles, "enough files may be open",
                              "only " + std::to_string(host.nofile) +
                                  " files may be open: raise it (ulimit -n 65536, LimitNOFILE=)"));
  checks.push_back(CheckLeast(
      "locked memory", host.memlock_bytes, kLeastMemlockBytes, "enough memory may be locked",
      "only " + base::FormatBytes(host.memlock_bytes) +
          " of memory may be locked: NCCL over InfiniBand needs more (ulimit -l unlimited)"));
  checks.push_back(host.cgroup_leaf
                       ? Check("cgroups", "ok", "each rank gets a cgroup of its own")
                       : Check("cgroups", "ok",
                               "no cgroup of its own for a rank (" + host.cgroup +
                                   "): ranks are ended by process group and subreaper instead"));
  return checks;
}

json Describe(const Gpu& gpu, GpuLibrary& library) {
  const base::Result<job::DeviceSample> sample = library.Sample(gpu.index);
  const base::Result<std::vector<GpuProcess>> found = library.Processes(gpu.index);
  json processes = json::array();
  for (const GpuProcess& process : found ? *found : std::vector<GpuProcess>()) {
    processes.push_back({{"pid", process.pid}, {"memory_bytes", process.memory_bytes}});
  }
  return {{"index", gpu.index},
          {"uuid", gpu.uuid},
          {"name", gpu.name},
          {"memory_bytes", gpu.memory_bytes},
          {"memory_used_bytes", sample ? sample->memory_used_bytes : 0},
          {"compute_capability",
           std::to_string(gpu.compute_major) + "." + std::to_string(gpu.compute_minor)},
          {"bf16", gpu.compute_major >= 8},
          {"unfit", WhyUnfit(gpu, library.DriverVersion())},
          {"processes", processes}};
}

json CheckGpu(const Gpu& gpu, const json& described) {
  const std::string name = "GPU " + std::to_string(gpu.index);
  const std::string title =
      name + " (" + gpu.name + ", " + base::FormatBytes(gpu.memory_bytes) + ")";
  json checks = json::array();
  if (const std::string unfit = WhyUnfitGpu(gpu); !unfit.empty()) {
    checks.push_back(Check(name, "failure", unfit));
  } else if (gpu.compute_major < 8) {
    checks.push_back(Check(
        name, "warning",
        title + " has no bf16 (compute capability 8.0 and newer have): use precision 32-true"));
  } else {
    checks.push_back(Check(name, "ok", title + " is fit"));
  }
  const int64_t used = described["memory_used_bytes"].get<int64_t>();
  if (used > IdleBaseline::IdleCeiling(gpu.memory_bytes) || !described["processes"].empty()) {
    std::string pids;
    for (const json& process : described["processes"])
      pids += " " + std::to_string(process["pid"].get<int64_t>());
    const std::string users = pids.empty() ? "" : ", processes" + pids;
    checks.push_back(Check(name, "warning",
                           name + " is in use: " + base::FormatBytes(used) + " of its memory" +
                               users + " (fine where trainctl runs a job there)"));
  }
  return checks;
}

void ProbeGpus(GpuLibrary& library, json& probe) {
  probe["driver"] = library.DriverVersion();
  const std::string unfit = WhyUnfitDriver(library.DriverVersion());
  const json fit = Check("driver", "ok", "NVIDIA driver " + library.DriverVersion());
  probe["checks"].push_back(unfit.empty() ? fit : Check("driver", "failure", unfit));
  const std::vector<Gpu> gpus = library.Gpus();
  for (const Gpu& gpu : gpus) {
    probe["gpus"].push_back(Describe(gpu, library));
    for (const json& check : CheckGpu(gpu, probe["gpus"].back())) probe["checks"].push_back(check);
    for (const Gpu& other : gpus) {
      if (other.index <= gpu.index) continue;
      probe["links"].push_back({{"from", gpu.index},
                                {"to", other.index},
                                {"link", job::Name(library.Link(gpu.index, other.index))}});
    }
  }
}

}  // namespace

HostFacts ReadHostFacts() {
  HostFacts facts;
  char name[256] = "localhost";
  ::gethostname(name, sizeof name - 1);
  facts.host = name;
  facts.cores = std::thread::hardware_concurrency();
  facts.memory_bytes = HostSampler().Sample().memory_total_bytes;
  const std::string own = shim::OwnCgroup();
  const bool has_v1 = ::access("/sys/fs/cgroup/memory", F_OK) == 0;
  facts.cgroup = has_v1 ? "v1" : own.empty() ? "none" : "v2";
  facts.cgroup_leaf = CanMakeLeaf(own);
  struct statvfs shm = {};
  if (::statvfs("/dev/shm", &shm) == 0)
    facts.shm_bytes = static_cast<int64_t>(shm.f_blocks * shm.f_frsize);
  facts.memlock_bytes = Limit(RLIMIT_MEMLOCK);
  facts.nofile = Limit(RLIMIT_NOFILE);
  return facts;
}

std::string Probe(const HostFacts& host, const base::Result<std::unique_ptr<GpuLibrary>>& gpus) {
  json probe = {{"host", host.host},
                {"cores", host.cores},
                {"memory_bytes", host.memory_bytes},
                {"cgroup", host.cgroup},
                {"cgroup_leaf", host.cgroup_leaf},
                {"shm_bytes", host.shm_bytes},
                {"limits", {{"memlock_bytes", host.memlock_bytes}, {"nofile", host.nofile}}},
                {"driver", nullptr},
                {"gpus", json::array()},
                {"links", json::array()},
                {"checks", CheckHost(host)}};
  if (gpus) {
    ProbeGpus(**gpus, probe);
  } else {
    const json no_gpu =
        Check("driver", "warning", gpus.error().message + ": jobs run on CPU slots");
    probe["checks"].push_back(gpus.error().code == base::Code::kNotFound
                                  ? no_gpu
                                  : Check("driver", "failure", gpus.error().message));
  }
  return probe.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace trainctl::agent
