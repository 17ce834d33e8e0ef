// What one GPU's driver tells of its health, by NVML's functions. The declarations follow NVIDIA's
// nvml.h, as in nvml.cc.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "worker/agent/gpu_library.h"

namespace trainctl::agent {

using NvmlDevice = void*;
using NvmlEventSet = void*;

inline constexpr int kNvmlSuccess = 0;  // what functions return
inline constexpr int kNvmlNotSupported = 3;
inline constexpr int kNvmlGpuIsLost = 15;
inline constexpr unsigned long long kNvmlDoubleBitEvent = 0x2, kNvmlXidEvent = 0x8;

struct NvmlEventData {  // nvmlEventData_t
  NvmlDevice device;
  unsigned long long type;
  unsigned long long data;  // the XID
  unsigned gpu_instance, compute_instance;
};

// Null where the driver has none of the name.
struct FaultFunctions {
  int (*create_events)(NvmlEventSet*);
  int (*supported_events)(NvmlDevice, unsigned long long*);
  int (*register_events)(NvmlDevice, unsigned long long, NvmlEventSet);
  int (*wait_event)(NvmlEventSet, NvmlEventData*, unsigned timeout_ms);
  int (*free_events)(NvmlEventSet);
  int (*ecc_errors)(NvmlDevice, int, int, unsigned long long*);
  int (*remapped_rows)(NvmlDevice, unsigned*, unsigned*, unsigned* pending, unsigned* failed);
  int (*retired_pages_pending)(NvmlDevice, int*);
};

// Each state is told when it begins. Of what is there at the start, only ECC errors are old news.
// Not thread-safe; functions outlive the reader.
class FaultReader {
 public:
  FaultReader(const FaultFunctions& functions, NvmlDevice device);
  ~FaultReader();
  FaultReader(const FaultReader&) = delete;
  FaultReader& operator=(const FaultReader&) = delete;

  GpuFaults Read();

 private:
  void ListenToEvents();
  std::vector<int64_t> Events();
  bool NewEccErrors();
  std::optional<bool> RowsWait();
  std::optional<bool> PagesWait();
  void Heard(int error);

  const FaultFunctions& nvml_;
  const NvmlDevice device_;
  NvmlEventSet events_ = nullptr;
  bool is_listening_ = false;
  unsigned long long ecc_errors_ = 0;
  bool rows_failed_ = false;
  bool is_lost_ = false;
  std::optional<bool> lost_now_;  // by what this reading has heard
};

}  // namespace trainctl::agent
