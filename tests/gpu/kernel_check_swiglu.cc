#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/sigmoid.h>

#include "tests/gpu/kernel_checks.h"
#include "tests/gpu/kernel_device.h"

namespace trainctl::gpu {
namespace {

namespace fused = ops::fused;

void CheckSwiGlu(Checks& checks, int64_t rows, int64_t ffn, at::ScalarType type, bool misaligned) {
  const std::string name = "SwiGlu " + NameOf(type) + Text({rows, ffn, misaligned});
  at::Tensor gate_up = Random({rows, 2 * ffn}, at::kFloat).mul(4).to(type);
  gate_up.narrow(1, 0, 1).fill_(-100);  // exp(100) is beyond fp32's range
  if (misaligned) {
    gate_up = Misaligned(gate_up);
  }
  const at::Tensor grad = Random({rows, ffn}, type), out = at::empty({rows, ffn}, On(type));
  const at::Tensor gate = gate_up.narrow(1, 0, ffn).to(at::kDouble),
                   up = gate_up.narrow(1, ffn, ffn).to(at::kDouble);
  const at::Tensor sigmoid = at::sigmoid(gate), silu = gate * sigmoid,
                   wide_grad = grad.to(at::kDouble);
  const at::Tensor gate_grad = wide_grad * up * (sigmoid + silu * (1 - sigmoid));
  C10_CUDA_CHECK(
      fused::SwiGluForward(TypeOf(out), rows, ffn, gate_up.data_ptr(), out.data_ptr(), Stream()));
  checks.Near(name + " forward", out, silu * up);
  const at::Tensor kept = grad.clone(), frozen = gate_up.clone();
  C10_CUDA_CHECK(fused::SwiGluBackward(TypeOf(out), rows, ffn, kept.data_ptr(), frozen.data_ptr(),
                                       false, Stream()));
  checks.Equal(name + " gradient left alone", kept, grad);
  C10_CUDA_CHECK(fused::SwiGluBackward(TypeOf(out), rows, ffn, grad.data_ptr(), gate_up.data_ptr(),
                                       true, Stream()));
  checks.Equal(name + " forward again", grad, out);
  checks.Equal(name + " gradient of a frozen layer", frozen, gate_up);
  checks.Near(name + " gradient", gate_up, at::cat({gate_grad, wide_grad * silu}, 1));
}

}  // namespace

void CheckSwiGlus(Checks& checks) {
  for (const at::ScalarType type : kTypes) {
    for (const auto& [rows, ffn] : {std::pair<int64_t, int64_t>{1, 8},
                                    {5, 7},
                                    {33, 100},
                                    {100, 1536},
                                    {64, 11008},
                                    {10, 28672}}) {
      CheckSwiGlu(checks, rows, ffn, type, false);
      CheckSwiGlu(checks, rows, ffn, type, true);
    }
  }
}

}  // namespace trainctl::gpu
