// NVML by dlopen. The declarations follow NVIDIA's nvml.h (NVML API reference,
// https://docs.nvidia.com/deploy/nvml-api/), whose functions and structures keep their binary form;
// only what is used here is declared, so that no CUDA toolkit is needed to build.
#include <dlfcn.h>

#include <array>
#include <map>

#include "worker/agent/fault_reader.h"
#include "worker/agent/gpu_library.h"
#include "worker/agent/host_cpus.h"

namespace trainctl::agent {
namespace {

constexpr int kSuccess = kNvmlSuccess;
constexpr int kInsufficientSize = 7;
constexpr int kTemperatureGpu = 0;
constexpr int kP2pNvlink = 2;
constexpr int kP2pOk = 0;

struct Utilization {
  unsigned gpu, memory;
};
struct NvmlMemory {  // nvmlMemory_v2_t
  unsigned version = sizeof(NvmlMemory) | 2U << 24;
  unsigned long long total = 0, reserved = 0, free = 0, used = 0;
};
struct PciInfo {  // nvmlPciInfo_t
  char bus_id_legacy[16];
  unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
  char bus_id[32];  // "00000000:1A:00.0"
};
struct ProcessInfo {
  unsigned pid;
  unsigned long long used_memory;
  unsigned gpu_instance, compute_instance;
};

// One function pointer a row: loaded by its name.
struct Functions {
  int (*init)();
  int (*shutdown)();
  const char* (*error_string)(int);
  int (*driver_version)(char*, unsigned);
  int (*count)(unsigned*);
  int (*handle)(unsigned, NvmlDevice*);
  int (*uuid)(NvmlDevice, char*, unsigned);
  int (*name)(NvmlDevice, char*, unsigned);
  int (*compute_capability)(NvmlDevice, int*, int*);
  int (*memory)(NvmlDevice, NvmlMemory*);
  int (*pci_info)(NvmlDevice, PciInfo*);
  int (*utilization)(NvmlDevice, Utilization*);
  int (*power)(NvmlDevice, unsigned*);             // milliwatts
  int (*temperature)(NvmlDevice, int, unsigned*);  // °C
  int (*energy)(NvmlDevice, unsigned long long*);  // millijoules
  int (*processes)(NvmlDevice, unsigned*, ProcessInfo*);
  int (*p2p_status)(NvmlDevice, NvmlDevice, int, int*);
  int (*common_ancestor)(NvmlDevice, NvmlDevice, int*);
  FaultFunctions faults;
};

template <class Function>
bool Load(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  return function != nullptr;
}

void LoadFaults(void* library, FaultFunctions& nvml) {
  Load(library, "nvmlEventSetCreate", nvml.create_events);
  Load(library, "nvmlDeviceGetSupportedEventTypes", nvml.supported_events);
  Load(library, "nvmlDeviceRegisterEvents", nvml.register_events);
  Load(library, "nvmlEventSetWait_v2", nvml.wait_event);
  Load(library, "nvmlEventSetFree", nvml.free_events);
  Load(library, "nvmlDeviceGetTotalEccErrors", nvml.ecc_errors);
  Load(library, "nvmlDeviceGetRemappedRows", nvml.remapped_rows);
  Load(library, "nvmlDeviceGetRetiredPagesPendingStatus", nvml.retired_pages_pending);
}

// The first function that the library lacks; null: it has all.
const char* LoadAll(void* library, Functions& nvml) {
  const char* missing = nullptr;
  const auto load = [&](const char* name, auto& function) {
    if (!Load(library, name, function) && missing == nullptr) missing = name;
  };
  load("nvmlInit_v2", nvml.init);
  load("nvmlShutdown", nvml.shutdown);
  load("nvmlErrorString", nvml.error_string);
  load("nvmlSystemGetDriverVersion", nvml.driver_version);
  load("nvmlDeviceGetCount_v2", nvml.count);
  load("nvmlDeviceGetHandleByIndex_v2", nvml.handle);
  load("nvmlDeviceGetUUID", nvml.uuid);
  load("nvmlDeviceGetName", nvml.name);
  load("nvmlDeviceGetCudaComputeCapability", nvml.compute_capability);
  load("nvmlDeviceGetMemoryInfo_v2", nvml.memory);
  load("nvmlDeviceGetPciInfo_v3", nvml.pci_info);
  load("nvmlDeviceGetUtilizationRates", nvml.utilization);
  load("nvmlDeviceGetPowerUsage", nvml.power);
  load("nvmlDeviceGetTemperature", nvml.temperature);
  load("nvmlDeviceGetTotalEnergyConsumption", nvml.energy);
  load("nvmlDeviceGetComputeRunningProcesses_v3", nvml.processes);
  load("nvmlDeviceGetP2PStatus", nvml.p2p_status);
  load("nvmlDeviceGetTopologyCommonAncestor", nvml.common_ancestor);
  return missing;
}

job::LinkKind LinkOver(int ancestor) {
  switch (ancestor) {
    case 10: return job::LinkKind::kOneSwitch;
    case 20: return job::LinkKind::kSwitches;
    case 30: return job::LinkKind::kHostBridge;
    case 40: return job::LinkKind::kNumaNode;
    case 50: return job::LinkKind::kBetweenSockets;
    default: return job::LinkKind::kUnknown;
  }
}

class Nvml : public GpuLibrary {
 public:
  Nvml(void* library, const Functions& functions) : library_(library), nvml_(functions) {}
  ~Nvml() override {
    fault_readers_.clear();
    nvml_.shutdown();
    ::dlclose(library_);
  }

  std::string DriverVersion() override {
    char version[96] = "";
    nvml_.driver_version(version, sizeof version);
    return version;
  }

  std::vector<Gpu> Gpus() override {
    unsigned count = 0;
    nvml_.count(&count);
    std::vector<Gpu> gpus;
    for (unsigned index = 0; index < count; ++index) {
      NvmlDevice device = nullptr;
      NvmlMemory memory;
      PciInfo pci = {};
      char uuid[96] = "", name[96] = "";
      Gpu gpu{.index = index};
      if (nvml_.handle(index, &device) != kSuccess ||
          nvml_.uuid(device, uuid, sizeof uuid) != kSuccess)
        continue;
      nvml_.name(device, name, sizeof name);
      nvml_.memory(device, &memory);
      nvml_.compute_capability(device, &gpu.compute_major, &gpu.compute_minor);
      gpu.uuid = uuid;
      gpu.name = name;
      gpu.memory_bytes = static_cast<int64_t>(memory.total);
      if (nvml_.pci_info(device, &pci) == kSuccess) gpu.numa_node = NodeOfPciDevice(pci.bus_id);
      gpus.push_back(gpu);
    }
    return gpus;
  }

  base::Result<job::DeviceSample> Sample(int64_t index) override {
    NvmlDevice device = nullptr;
    NvmlMemory memory;
    if (const int error = nvml_.handle(static_cast<unsigned>(index), &device))
      return Failure(index, error);
    if (const int error = nvml_.memory(device, &memory)) return Failure(index, error);
    job::DeviceSample sample{.memory_used_bytes = static_cast<int64_t>(memory.used)};
    Utilization utilization = {};
    unsigned milliwatts = 0, celsius = 0;
    unsigned long long millijoules = 0;
    if (nvml_.utilization(device, &utilization) == kSuccess)
      sample.utilization_percent = utilization.gpu;
    if (nvml_.power(device, &milliwatts) == kSuccess) sample.power_watts = milliwatts / 1e3;
    if (nvml_.temperature(device, kTemperatureGpu, &celsius) == kSuccess)
      sample.temperature_celsius = celsius;
    if (nvml_.energy(device, &millijoules) == kSuccess)
      sample.energy_joules = static_cast<double>(millijoules) / 1e3;
    return sample;
  }

  base::Result<std::vector<GpuProcess>> Processes(int64_t index) override {
    NvmlDevice device = nullptr;
    if (const int error = nvml_.handle(static_cast<unsigned>(index), &device))
      return Failure(index, error);
    std::array<ProcessInfo, 256> infos;
    unsigned count = infos.size();
    const int error = nvml_.processes(device, &count, infos.data());
    if (error != kSuccess && error != kInsufficientSize) return Failure(index, error);
    std::vector<GpuProcess> processes;
    for (unsigned i = 0; i < count && i < infos.size(); ++i) {
      const bool known = infos[i].used_memory != ~0ULL;
      processes.push_back({infos[i].pid, known ? static_cast<int64_t>(infos[i].used_memory) : 0});
    }
    return processes;
  }

  std::optional<GpuFaults> Faults(int64_t index) override {
    auto reader = fault_readers_.find(index);
    if (reader == fault_readers_.end()) {
      NvmlDevice device = nullptr;
      if (nvml_.handle(static_cast<unsigned>(index), &device) != kSuccess) return std::nullopt;
      reader = fault_readers_.try_emplace(index, nvml_.faults, device).first;
    }
    return reader->second.Read();
  }

  job::LinkKind Link(int64_t from, int64_t to) override {
    using enum job::LinkKind;
    NvmlDevice a = nullptr, b = nullptr;
    int value = 0;
    if (nvml_.handle(static_cast<unsigned>(from), &a) != kSuccess) return kUnknown;
    if (nvml_.handle(static_cast<unsigned>(to), &b) != kSuccess) return kUnknown;
    if (nvml_.p2p_status(a, b, kP2pNvlink, &value) == kSuccess && value == kP2pOk) return kNvlink;
    return nvml_.common_ancestor(a, b, &value) == kSuccess ? LinkOver(value) : kUnknown;
  }

 private:
  base::Error Failure(int64_t index, int error) const {
    return {base::Code::kUnavailable, "the driver does not answer for GPU " +
                                          std::to_string(index) + ": " + nvml_.error_string(error)};
  }

  void* library_;
  const Functions nvml_;
  std::map<int64_t, FaultReader> fault_readers_;  // by the GPU's number
};

}  // namespace

base::Result<std::unique_ptr<GpuLibrary>> OpenNvml() {
  void* library = ::dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return base::Error{base::Code::kNotFound,
                       "no NVIDIA driver here (libnvidia-ml.so.1 is missing)"};
  Functions nvml = {};
  if (const char* missing = LoadAll(library, nvml)) {
    ::dlclose(library);
    return base::Error{base::Code::kUnavailable, "libnvidia-ml.so.1 lacks " + std::string(missing) +
                                                     ", which a driver from 580 on has"};
  }
  LoadFaults(library, nvml.faults);
  if (const int error = nvml.init()) {
    std::string message =
        std::string("the NVIDIA driver does not answer: ") + nvml.error_string(error);
    ::dlclose(library);
    return base::Error{base::Code::kUnavailable, std::move(message)};
  }
  return std::unique_ptr<GpuLibrary>(std::make_unique<Nvml>(library, nvml));
}

}  // namespace trainctl::agent
