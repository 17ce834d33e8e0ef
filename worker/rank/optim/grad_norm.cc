#include "worker/rank/optim/grad_norm.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAStream.h>

#include "worker/rank/ops/cuda_element.h"
#include "worker/rank/ops/fused.h"

namespace trainctl::optim {
namespace {

constexpr int64_t kNormPiece = 1 << 16;  // elements that a CPU has in fp32 and fp64 at once

}  // namespace

void AddNormSquared(const at::Tensor& grad, const at::Tensor& sum) {
  if (grad.is_cpu()) {
    for (const at::Tensor& piece : grad.split(kNormPiece)) {
      const at::Tensor wide = piece.to(at::kFloat);
      sum.add_((wide * wide).sum(at::kDouble));
    }
    return;
  }
  const at::Tensor workspace =
      at::empty({static_cast<int64_t>(ops::fused::kNormWorkspaceDoubles)}, sum.options());
  C10_CUDA_CHECK(ops::fused::AddNormSquared(
      ops::ElementType(grad.scalar_type()), grad.numel(), grad.const_data_ptr(), /*beta=*/1,
      sum.data_ptr<double>(), workspace.data_ptr<double>(), c10::cuda::getCurrentCUDAStream()));
}

}  // namespace trainctl::optim
