// c10's allocator for CPU tensors in a rank on a CPU slot. It counts what tensors hold, keeps the
// peak, and enforces a limit. Beyond the limit it throws the c10::OutOfMemoryError that the CUDA
// allocator throws. So memory by kind and the OOM outcome are one code path everywhere.
// Thread-safe. At most one is installed in a process, and for good: tensors outlive it.
#pragma once

#include <cstdint>

namespace trainctl::train {

struct AllocatorStats {
  int64_t allocated_bytes = 0;
  int64_t peak_bytes = 0;
  // The most that was held of the device. CUDA's caching allocator holds it, on a CPU slot the
  // process: its anonymous memory, as seen whenever these figures were asked for.
  int64_t reserved_bytes = 0;
};

// The last allocation that was refused, and what was allocated at that moment (the error's
// unwinding frees much of it). All 0: none was.
struct Refusal {
  int64_t requested_bytes = 0;
  int64_t allocated_bytes = 0;
};

// limit_bytes 0: none. Call before the first tensor.
void InstallCountingAllocator(int64_t limit_bytes);

AllocatorStats CountedCpuMemory();
void ResetCountedPeak();
Refusal LastCpuRefusal();

}  // namespace trainctl::train
