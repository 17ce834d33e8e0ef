#include <ATen/TensorOperators.h>
#include <ATen/ops/erfc.h>
#include <ATen/ops/exp.h>

#include <cmath>
#include <numbers>

#include "tests/gpu/kernel_checks.h"
#include "tests/gpu/kernel_device.h"

namespace trainctl::gpu {
namespace {

namespace fused = ops::fused;

void CheckGelu(Checks& checks, int64_t count, at::ScalarType type, bool misaligned) {
  const std::string name = "Gelu " + NameOf(type) + Text({count, misaligned});
  at::Tensor x = Random({count}, at::kFloat).mul(3).to(type);
  x.narrow(0, 0, 1).fill_(-100);
  if (misaligned) {
    x = Misaligned(x);
  }
  const at::Tensor grad = Random({count}, type), out = at::empty({count}, On(type));
  const at::Tensor wide = x.to(at::kDouble), wide_grad = grad.to(at::kDouble);
  const at::Tensor below = at::erfc(wide * -std::numbers::sqrt2 / 2) / 2;
  const at::Tensor density = at::exp(wide * wide / -2) / std::sqrt(2 * std::numbers::pi);
  C10_CUDA_CHECK(fused::GeluForward(TypeOf(out), count, x.data_ptr(), out.data_ptr(), Stream()));
  checks.Near(name + " forward", out, wide * below);
  const at::Tensor kept = grad.clone(), frozen = x.clone();
  C10_CUDA_CHECK(
      fused::GeluBackward(TypeOf(out), count, kept.data_ptr(), frozen.data_ptr(), false, Stream()));
  checks.Equal(name + " gradient left alone", kept, grad);
  C10_CUDA_CHECK(
      fused::GeluBackward(TypeOf(out), count, grad.data_ptr(), x.data_ptr(), true, Stream()));
  checks.Equal(name + " forward again", grad, out);
  checks.Equal(name + " gradient of a frozen layer", frozen, x);
  checks.Near(name + " gradient", x, wide_grad * (below + wide * density));
}

}  // namespace

void CheckGelus(Checks& checks) {
  for (const at::ScalarType type : kTypes) {
    for (const int64_t count : {1, 8, 37, 1000, 6144 * 257}) {
      CheckGelu(checks, count, type, false);
      CheckGelu(checks, count, type, true);
    }
  }
}

}  // namespace trainctl::gpu
