// NVML by dlopen. The declarations follow NVIDIA's nvml.h (NVML API reference,
// https://docs.nvidia.com/deploy/nvml-api/), whose functions and structures keep their binary form;
// only what is used here is declared, so that no CUDA toolkit is needed to build.
#include <dlfcn.h>

#include <array>
#include <map>
#include <set>

#include "common/job/device_fault.h"
#include "worker/agent/gpu_library.h"
#include "worker/agent/host_cpus.h"

namespace trainctl::agent {
namespace {

using NvmlDevice = void*;
constexpr int kSuccess = 0;
constexpr int kInsufficientSize = 7;
constexpr int kTemperatureGpu = 0;
constexpr int kP2pNvlink = 2;
constexpr int kP2pOk = 0;
constexpr int kGpuIsLost = 15;
constexpr int kUncorrected = 1, kSinceDriverLoaded = 0;  // of ECC errors
constexpr unsigned long long kDoubleBitEvent = 0x2, kXidEvent = 0x8;
constexpr int kMostEventsAtOnce = 64;

struct Utilization {
  unsigned gpu, memory;
};
struct NvmlMemory {
  unsigned long long total, free, used;
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

struct EventData {  // nvmlEventData_t
  NvmlDevice device;
  unsigned long long type;
  unsigned long long data;  // the XID
  unsigned gpu_instance, compute_instance;
};
using EventSet = void*;

// Of a GPU's health; null where the driver has none of the name.
struct FaultFunctions {
  int (*create_events)(EventSet*);
  int (*supported_events)(NvmlDevice, unsigned long long*);
  int (*register_events)(NvmlDevice, unsigned long long, EventSet);
  int (*wait_event)(EventSet, EventData*, unsigned timeout_ms);
  int (*free_events)(EventSet);
  int (*ecc_errors)(NvmlDevice, int, int, unsigned long long*);
  int (*remapped_rows)(NvmlDevice, unsigned*, unsigned*, unsigned* pending, unsigned* failed);
  int (*retired_pages_pending)(NvmlDevice, int*);
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

bool LoadAll(void* library, Functions& nvml) {
  return Load(library, "nvmlInit_v2", nvml.init) && Load(library, "nvmlShutdown", nvml.shutdown) &&
         Load(library, "nvmlErrorString", nvml.error_string) &&
         Load(library, "nvmlSystemGetDriverVersion", nvml.driver_version) &&
         Load(library, "nvmlDeviceGetCount_v2", nvml.count) &&
         Load(library, "nvmlDeviceGetHandleByIndex_v2", nvml.handle) &&
         Load(library, "nvmlDeviceGetUUID", nvml.uuid) &&
         Load(library, "nvmlDeviceGetName", nvml.name) &&
         Load(library, "nvmlDeviceGetCudaComputeCapability", nvml.compute_capability) &&
         Load(library, "nvmlDeviceGetMemoryInfo", nvml.memory) &&
         Load(library, "nvmlDeviceGetPciInfo_v3", nvml.pci_info) &&
         Load(library, "nvmlDeviceGetUtilizationRates", nvml.utilization) &&
         Load(library, "nvmlDeviceGetPowerUsage", nvml.power) &&
         Load(library, "nvmlDeviceGetTemperature", nvml.temperature) &&
         Load(library, "nvmlDeviceGetTotalEnergyConsumption", nvml.energy) &&
         Load(library, "nvmlDeviceGetComputeRunningProcesses_v3", nvml.processes) &&
         Load(library, "nvmlDeviceGetP2PStatus", nvml.p2p_status) &&
         Load(library, "nvmlDeviceGetTopologyCommonAncestor", nvml.common_ancestor);
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

// What one GPU's driver tells of its health. Each state is told when it begins; one that is there
// at the start is old news, but for the reset that is due.
class FaultReader {
 public:
  FaultReader(const FaultFunctions& functions, NvmlDevice device)
      : nvml_(functions), device_(device) {
    ListenToEvents();
    NewEccErrors();
    RowsAre();
  }
  ~FaultReader() {
    if (events_ != nullptr && nvml_.free_events != nullptr) nvml_.free_events(events_);
  }
  FaultReader(const FaultReader&) = delete;
  FaultReader& operator=(const FaultReader&) = delete;

  GpuFaults Read() {
    GpuFaults faults;
    std::set<int64_t> told;
    for (const int64_t xid : Events()) {
      if (told.insert(xid).second) faults.xids.push_back(xid);
    }
    const auto add = [&](int64_t xid, bool is_new) {
      if (is_new && told.insert(xid).second) faults.xids.push_back(xid);
    };
    const bool had_failed = rows_failed_;
    faults.reset_pending = RowsAre() || PagesAre();
    // The driver's own event for the same may come with it, or be missed.
    add(job::kXidDoubleBitError, NewEccErrors());
    add(job::kXidRowsNotReplaced, rows_failed_ && !had_failed);
    add(job::kXidOffTheBus, is_lost_ && !std::exchange(said_lost_, is_lost_));
    return faults;
  }

 private:
  // The driver keeps what happens from here on for us.
  void ListenToEvents() {
    const bool can = nvml_.create_events != nullptr && nvml_.register_events != nullptr &&
                     nvml_.wait_event != nullptr;
    if (!can || nvml_.create_events(&events_) != kSuccess) {
      events_ = nullptr;
      return;
    }
    unsigned long long wanted = kXidEvent | kDoubleBitEvent, supported = wanted;
    if (nvml_.supported_events != nullptr &&
        nvml_.supported_events(device_, &supported) == kSuccess)
      wanted &= supported;
    is_listening_ = wanted != 0 && nvml_.register_events(device_, wanted, events_) == kSuccess;
  }

  std::vector<int64_t> Events() {
    std::vector<int64_t> xids;
    EventData event = {};
    for (int i = 0; is_listening_ && i < kMostEventsAtOnce; ++i) {
      const int error = nvml_.wait_event(events_, &event, 0);
      is_lost_ |= error == kGpuIsLost;
      if (error != kSuccess) break;
      if (event.type == kXidEvent) xids.push_back(static_cast<int64_t>(event.data));
      if (event.type == kDoubleBitEvent) xids.push_back(job::kXidDoubleBitError);
    }
    return xids;
  }

  bool NewEccErrors() {
    unsigned long long count = 0;
    if (nvml_.ecc_errors == nullptr) return false;
    const int error = nvml_.ecc_errors(device_, kUncorrected, kSinceDriverLoaded, &count);
    is_lost_ |= error == kGpuIsLost;
    return error == kSuccess && count > std::exchange(ecc_errors_, count);
  }

  // True: some wait for a reset.
  bool RowsAre() {
    unsigned corrected = 0, uncorrected = 0, pending = 0, failed = 0;
    if (nvml_.remapped_rows == nullptr ||
        nvml_.remapped_rows(device_, &corrected, &uncorrected, &pending, &failed) != kSuccess)
      return false;
    rows_failed_ = failed != 0;
    return pending != 0;
  }

  bool PagesAre() {
    int pending = 0;
    return nvml_.retired_pages_pending != nullptr &&
           nvml_.retired_pages_pending(device_, &pending) == kSuccess && pending != 0;
  }

  const FaultFunctions& nvml_;
  const NvmlDevice device_;
  EventSet events_ = nullptr;
  bool is_listening_ = false;
  unsigned long long ecc_errors_ = 0;
  bool rows_failed_ = false;
  bool is_lost_ = false, said_lost_ = false;
};

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
      NvmlMemory memory = {};
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
    NvmlMemory memory = {};
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

  GpuFaults Faults(int64_t index) override {
    auto reader = fault_readers_.find(index);
    if (reader == fault_readers_.end()) {
      NvmlDevice device = nullptr;
      if (nvml_.handle(static_cast<unsigned>(index), &device) != kSuccess) return {};
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
  if (!LoadAll(library, nvml)) {
    ::dlclose(library);
    return base::Error{base::Code::kUnavailable,
                       "libnvidia-ml.so.1 lacks functions that a driver from 580 on has"};
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
