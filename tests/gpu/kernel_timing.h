// The time of each fused kernel at OpenLLaMA 7B's shapes, 4,096 tokens of bf16. Beside it stand the
// bytes that it cannot but move.
#pragma once

namespace trainctl::gpu {

// Prints a line a kernel: microseconds, GB/s of those bytes, and the share of what a device copy
// reaches in the same run.
void TimeKernels();

}  // namespace trainctl::gpu
