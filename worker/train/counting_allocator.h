// c10's allocator for CPU tensors in a rank on a CPU slot: counts what tensors hold, keeps the peak, and enforces a limit with the same
// c10::OutOfMemoryError that the CUDA allocator throws, so that memory by kind and the OOM outcome are one code path everywhere.
// Thread-safe. At most one is installed in a process, and for good: tensors outlive it.
#pragma once

#include <cstdint>

namespace trainctl::train {

struct AllocatorStats {
  int64_t allocated_bytes = 0;
  int64_t peak_bytes = 0;
  int64_t reserved_bytes = 0;
};

// limit_bytes 0: none. Call before the first tensor.
void InstallCountingAllocator(int64_t limit_bytes);

AllocatorStats CountedCpuMemory();
void ResetCountedPeak();
// Of the last allocation that was refused; 0: none was.
int64_t RefusedCpuBytes();

}  // namespace trainctl::train
