// The one device that a worker offers: a GPU, or a CPU slot. Not thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/job/device.h"
#include "worker/agent/gpu_library.h"
#include "worker/agent/host_cpus.h"

namespace trainctl::agent {

class Device {
 public:
  virtual ~Device() = default;
  virtual const job::Device& info() const = 0;
  // nullopt: a CPU slot (its rank is what is sampled), or a GPU that does not answer now.
  virtual std::optional<job::DeviceSample> Sample() = 0;
  // That use it now, ours too. Empty: none, the driver does not answer now, or a CPU slot.
  virtual std::vector<GpuProcess> Processes() = 0;
  // Its faults since it was asked last, none of a CPU slot; nullopt: it does not answer now.
  virtual std::optional<GpuFaults> Faults() = 0;
  // With no rank of ours on it: empty where the device is free, else why it is not. A process that
  // computes on it is somebody else's, however little it holds.
  virtual std::string WhyNotFree() = 0;
  // What a rank's environment needs to see this device, as its number 0, and no other: NAME=value.
  virtual std::vector<std::string> Environment() const = 0;
  // The NUMA nodes of the host's devices of this kind, by number: among these its CPUs are shared
  // out (host_cpus.h).
  virtual std::vector<NumaNode> HostDevices(const HostCpus& host) const = 0;
};

struct CpuSlotOptions {
  std::string host;
  int64_t index = 0;
  int64_t threads = 1;
  int64_t memory_bytes = 0;
};
std::unique_ptr<Device> MakeCpuSlot(const CpuSlotOptions& options);

// directory keeps the idle baseline for later workers of the same boot. kNotFound: no such GPU; the
// message names those there are. kInvalid: the driver or the GPU is too old for CUDA 13.
base::Result<std::unique_ptr<Device>> MakeGpu(std::unique_ptr<GpuLibrary> library, int64_t index,
                                              int64_t threads, const std::string& directory);

// Fit for CUDA 13: a driver from 580 on; compute capability from 7.5 on. Empty: it is; else what is
// wrong, in plain words.
std::string WhyUnfitDriver(const std::string& driver_version);
std::string WhyUnfitGpu(const Gpu& gpu);
// Of both, the driver first.
std::string WhyUnfit(const Gpu& gpu, const std::string& driver_version);

}  // namespace trainctl::agent
