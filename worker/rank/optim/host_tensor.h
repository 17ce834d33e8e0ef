// Large fp32 tensors in host memory, for what an offloaded optimizer keeps there. Zeros. On a CPU
// slot they are ordinary tensors, which the counting allocator counts; beside a GPU they are mapped
// (host_block.h), and nothing counts them. Errors: HostMemoryError (host_memory.h), before anything
// is allocated.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace trainctl::optim {

// A master: pinned, so that copies to and from `device` take no detour.
at::Tensor HostTensor(int64_t numel, c10::Device device);

// A moment, which never leaves the host: not pinned.
at::Tensor HostMoment(int64_t numel, c10::Device device);

}  // namespace trainctl::optim
