// What the driver tells about this host's GPUs. NVML is the implementation (nvml.cc), found at run
// time: a host without it has no GPUs.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/job/link.h"
#include "common/job/samples.h"

namespace trainctl::agent {

struct Gpu {
  int64_t index = 0;
  std::string uuid;  // "GPU-…"
  std::string name;  // "NVIDIA H200"
  int64_t memory_bytes = 0;
  int compute_major = 0;
  int compute_minor = 0;
  std::optional<int> numa_node = {};  // that it hangs on, where the system says
};

struct GpuProcess {
  int64_t pid = 0;  // of the host: may name nobody inside a container
  int64_t memory_bytes = 0;
};

// What the driver says of a GPU's health.
struct GpuFaults {
  std::vector<int64_t> xids = {};  // since it was asked last, in order (common/job/device_fault.h)
  std::optional<bool> reset_pending = false;  // memory is replaced then; nullopt: not known now
};

// Not thread-safe. Errors are kUnavailable: the driver does not answer for that GPU (now).
class GpuLibrary {
 public:
  virtual ~GpuLibrary() = default;
  virtual std::string DriverVersion() = 0;  // "580.95.05"
  virtual std::vector<Gpu> Gpus() = 0;
  virtual base::Result<job::DeviceSample> Sample(int64_t index) = 0;
  virtual base::Result<std::vector<GpuProcess>> Processes(int64_t index) = 0;
  // None where the driver never tells; nullopt: it does not answer now. What it says later is kept.
  virtual std::optional<GpuFaults> Faults(int64_t index) = 0;
  // How two GPUs reach each other.
  virtual job::LinkKind Link(int64_t from, int64_t to) = 0;
};

// kNotFound: there is no NVML on this host. kUnavailable: its driver does not answer.
base::Result<std::unique_ptr<GpuLibrary>> OpenNvml();

}  // namespace trainctl::agent
