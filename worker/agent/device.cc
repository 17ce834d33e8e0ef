#include "worker/agent/device.h"

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <utility>

#include "common/base/boot_id.h"
#include "common/base/file.h"
#include "common/base/size.h"
#include "worker/agent/foreign_processes.h"
#include "worker/agent/idle_baseline.h"
#include "worker/shim/process_table.h"

namespace trainctl::agent {
namespace {

constexpr int kLeastDriver = 580;

class CpuSlot : public Device {
 public:
  explicit CpuSlot(const CpuSlotOptions& options) {
    info_.index = options.index;
    info_.uuid = "cpu:" + options.host + ":" + std::to_string(options.index);
    info_.name = job::CpuSlotName(options.threads);
    info_.memory_bytes = options.memory_bytes;
    info_.threads = options.threads;
  }

  const job::Device& info() const override { return info_; }
  std::optional<job::DeviceSample> Sample() override { return std::nullopt; }
  std::vector<GpuProcess> Processes() override { return {}; }
  std::optional<GpuFaults> Faults() override { return GpuFaults(); }
  std::string WhyNotFree() override { return {}; }
  // Threads of OpenMP (libgomp's, which torch brings) that wait shall sleep, not spin: other slots'
  // ranks want those cores.
  std::vector<std::string> Environment() const override {
    return {"CUDA_VISIBLE_DEVICES=", "OMP_WAIT_POLICY=PASSIVE"};
  }
  // As many slots as their threads have room for; on none of the nodes by nature.
  std::vector<NumaNode> HostDevices(const HostCpus& host) const override {
    const auto cpus = static_cast<int64_t>(host.allowed.size());
    return std::vector<NumaNode>(static_cast<size_t>(std::max<int64_t>(1, cpus / info_.threads)));
  }

 private:
  job::Device info_;
};

// idle_baseline.json: {"boot_id", "uuid", "used_bytes"}; of another boot or GPU it says nothing.
std::optional<int64_t> ReadBaseline(const std::string& path, const std::string& uuid) {
  const base::Result<std::string> text = base::ReadFile(path, 4096);
  if (!text) return std::nullopt;
  const nlohmann::json json = nlohmann::json::parse(*text, nullptr, false);
  if (!json.is_object() || json.value("boot_id", "") != base::BootId() ||
      json.value("uuid", "") != uuid)
    return std::nullopt;
  return json.value("used_bytes", int64_t{0});
}

class GpuDevice : public Device {
 public:
  GpuDevice(std::unique_ptr<GpuLibrary> library, const Gpu& gpu, int64_t threads,
            const std::string& directory)
      : library_(std::move(library)),
        path_(directory + "/idle_baseline.json"),
        baseline_(gpu.memory_bytes, ReadBaseline(path_, gpu.uuid)) {
    info_.kind = job::DeviceKind::kCuda;
    info_.index = gpu.index;
    info_.uuid = gpu.uuid;
    info_.name = gpu.name;
    info_.memory_bytes = gpu.memory_bytes;
    info_.compute_capability =
        std::to_string(gpu.compute_major) + "." + std::to_string(gpu.compute_minor);
    info_.driver = library_->DriverVersion();
    info_.threads = threads;
    info_.numa_node = gpu.numa_node;
    for (const Gpu& other : library_->Gpus()) {
      if (other.uuid != gpu.uuid) info_.links[other.uuid] = library_->Link(gpu.index, other.index);
      nodes_.resize(std::max(nodes_.size(), static_cast<size_t>(other.index) + 1));
      nodes_[static_cast<size_t>(other.index)] = other.numa_node;
    }
  }

  const job::Device& info() const override { return info_; }

  std::optional<job::DeviceSample> Sample() override {
    const base::Result<job::DeviceSample> sample = library_->Sample(info_.index);
    return sample ? std::optional(*sample) : std::nullopt;
  }

  std::vector<GpuProcess> Processes() override {
    base::Result<std::vector<GpuProcess>> found = library_->Processes(info_.index);
    return found ? std::move(*found) : std::vector<GpuProcess>();
  }

  std::optional<GpuFaults> Faults() override { return library_->Faults(info_.index); }

  std::string WhyNotFree() override {
    const base::Result<job::DeviceSample> sample = library_->Sample(info_.index);
    if (!sample) return sample.error().message;
    if (const std::string users = Users(); !users.empty()) return users;
    const std::optional<int64_t> before = baseline_.baseline();
    const bool idle = baseline_.IsIdle(sample->memory_used_bytes);
    if (baseline_.baseline() != before) Store(*baseline_.baseline());
    if (idle) return {};
    return base::FormatBytes(sample->memory_used_bytes) + " of its memory are in use, " +
           (before ? "not the " + base::FormatBytes(*before) + " of an idle GPU"
                   : std::string("and no rank runs here"));
  }

  // By UUID: ordinals change with the environment and with the order of the PCI bus.
  std::vector<std::string> Environment() const override {
    return {"CUDA_VISIBLE_DEVICES=" + info_.uuid};
  }

  std::vector<NumaNode> HostDevices(const HostCpus&) const override { return nodes_; }

 private:
  // Only a hint, and lost where the folder can't be written: then the next worker learns it anew.
  void Store(int64_t used_bytes) {
    const nlohmann::json json = {
        {"boot_id", base::BootId()}, {"uuid", info_.uuid}, {"used_bytes", used_bytes}};
    [[maybe_unused]] const base::Status written =
        base::WriteFileAtomically(path_, json.dump() + "\n");
  }

  // "no rank runs here, but others compute on it: process 4711, python of anna, with 0.50 GiB";
  // empty: nobody does.
  std::string Users() {
    std::string users;
    for (const job::ForeignProcess& process : foreign_processes_.Among(Processes(), {})) {
      users += (users.empty() ? "process " : "; process ") + std::to_string(process.pid);
      if (!process.program.empty()) users += ", " + process.program + " of " + process.user;
      if (process.memory_bytes > 0) users += ", with " + base::FormatBytes(process.memory_bytes);
    }
    return users.empty() ? "" : "no rank runs here, but others compute on it: " + users;
  }

  job::Device info_;
  std::unique_ptr<GpuLibrary> library_;
  const std::string path_;
  IdleBaseline baseline_;
  ForeignProcesses foreign_processes_;
  std::vector<NumaNode> nodes_;  // of all GPUs of the host, by index
};

}  // namespace

std::unique_ptr<Device> MakeCpuSlot(const CpuSlotOptions& options) {
  return std::make_unique<CpuSlot>(options);
}

base::Result<std::unique_ptr<Device>> MakeGpu(std::unique_ptr<GpuLibrary> library, int64_t index,
                                              int64_t threads, const std::string& directory) {
  const std::string driver = library->DriverVersion();
  std::string others;
  for (const Gpu& gpu : library->Gpus()) {
    if (gpu.index == index) {
      if (const std::string unfit = WhyUnfit(gpu, driver); !unfit.empty())
        return base::Error{base::Code::kInvalid, unfit};
      return std::unique_ptr<Device>(
          std::make_unique<GpuDevice>(std::move(library), gpu, threads, directory));
    }
    others += (others.empty() ? "cuda:" : ", cuda:") + std::to_string(gpu.index);
  }
  return base::Error{base::Code::kNotFound, "no GPU cuda:" + std::to_string(index) +
                                                " on this host; there " +
                                                (others.empty() ? "are none" : "are " + others)};
}

std::string WhyUnfitDriver(const std::string& driver_version) {
  if (std::atoi(driver_version.c_str()) >= kLeastDriver) return {};
  return "the NVIDIA driver is " + driver_version +
         ", but CUDA 13 needs 580 or newer: update the driver";
}

std::string WhyUnfitGpu(const Gpu& gpu) {
  if (std::pair(gpu.compute_major, gpu.compute_minor) >= std::pair(7, 5)) return {};
  return "GPU " + std::to_string(gpu.index) + " (" + gpu.name + ") has compute capability " +
         std::to_string(gpu.compute_major) + "." + std::to_string(gpu.compute_minor) +
         ", but CUDA 13 needs 7.5 or newer: it cannot be used (CUDA 12 was the last for V100s)";
}

std::string WhyUnfit(const Gpu& gpu, const std::string& driver_version) {
  const std::string driver = WhyUnfitDriver(driver_version);
  return driver.empty() ? WhyUnfitGpu(gpu) : driver;
}

}  // namespace trainctl::agent
