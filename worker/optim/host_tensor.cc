#include "worker/optim/host_tensor.h"

#include <ATen/ops/zeros.h>

namespace trainctl::optim {

at::Tensor HostTensor(int64_t numel, c10::Device) { return at::zeros({numel}, at::TensorOptions().dtype(at::kFloat)); }

}  // namespace trainctl::optim
