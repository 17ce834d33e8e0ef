// What a rank computes on: a GPU, or a CPU slot.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/job/labels.h"
#include "common/job/link.h"

namespace trainctl::job {

enum class DeviceKind { kCuda, kCpu };

std::string_view Name(DeviceKind kind);  // "cuda"
std::optional<DeviceKind> ParseDeviceKind(std::string_view name);

// "CPU slot (2 threads)".
std::string CpuSlotName(int64_t threads);
// The threads of a CPU slot of that name; nullopt: it is no such name.
std::optional<int64_t> ThreadsOfCpuSlot(std::string_view name);

// The one device that a worker offers.
struct Device {
  DeviceKind kind = DeviceKind::kCpu;
  int64_t index = 0;  // CUDA ordinal on its host, or the CPU slot's number
  std::string uuid;   // as NVML names it; on CPU "cpu:<host>:<slot>"
  std::string name;
  int64_t memory_bytes = 0;
  std::string compute_capability;  // "9.0"; empty on CPU
  std::string driver;              // empty on CPU
  int64_t threads = 1;
  Labels labels = {};             // of its worker
  int64_t host_memory_bytes = 0;  // of its host, or what a container may use of it; 0: not told
  Links links = {};               // to the other GPUs of its host
  std::optional<int64_t> numa_node = {};  // told at each Hello, and not stored
};

}  // namespace trainctl::job
