// Large fp32 tensors in host memory, for what an offloaded optimizer keeps there.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <cstdint>

namespace trainctl::optim {

// numel zeros, that copies to and from `device` can use without a detour.
at::Tensor HostTensor(int64_t numel, c10::Device device);

}  // namespace trainctl::optim
