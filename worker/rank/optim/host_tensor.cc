#include "worker/rank/optim/host_tensor.h"

#include <ATen/ops/from_blob.h>
#include <ATen/ops/zeros.h>

#include <memory>
#include <string>

#include "worker/rank/optim/host_block.h"
#include "worker/rank/optim/host_memory.h"

namespace trainctl::optim {
namespace {

at::Tensor Make(int64_t numel, c10::Device device, bool pinned, const std::string& what) {
  const auto options = at::TensorOptions().dtype(at::kFloat);
  const int64_t bytes = numel * static_cast<int64_t>(sizeof(float));
  if (!device.is_cuda() || numel == 0) {
    RequireHostMemory(bytes, what);
    return at::zeros({numel}, options);
  }
  const auto block = std::make_shared<HostBlock>(bytes, device, pinned, what);
  return at::from_blob(block->data(), {numel}, [block](void*) {}, options);
}

}  // namespace

at::Tensor HostTensor(int64_t numel, c10::Device device) {
  return Make(numel, device, /*pinned=*/true, "a unit's fp32 master weights");
}

at::Tensor HostMoment(int64_t numel, c10::Device device) {
  return Make(numel, device, /*pinned=*/false, "a unit's optimizer state");
}

}  // namespace trainctl::optim
