#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>

#include "tests/gpu/kernel_checks.h"
#include "tests/gpu/kernel_device.h"
#include "worker/rank/ops/dropout.h"

namespace trainctl::gpu {
namespace {

namespace fused = ops::fused;

fused::Dropout Describe(const at::Tensor& x, const ops::DropoutMask& mask) {
  return {.element = TypeOf(x),
          .rows = x.size(0),
          .columns = x.size(1),
          .x = x.data_ptr(),
          .samples = mask.rows.samples.const_data_ptr<int64_t>(),
          .length = mask.rows.length,
          .first_row = mask.first_row,
          .seed = static_cast<uint64_t>(mask.rows.seed),
          .module = mask.module,
          .threshold = mask.threshold(),
          .scale = static_cast<float>(mask.scale())};
}

// The mask is the CPU's, bit for bit: values are far from zero.
void CheckDropout(Checks& checks, int64_t rows, int64_t columns, at::ScalarType type,
                  bool misaligned) {
  const std::string name = "Dropout " + NameOf(type) + Text({rows, columns, misaligned});
  const int64_t length = 48, first_row = 7, batch = (first_row + rows) / length + 1;
  ops::DropoutMask mask{
      .rows = {.seed = -5, .samples = at::arange(1000, 1000 + batch, at::kLong), .length = length},
      .first_row = first_row,
      .module = 231,
      .probability = 0.05};
  const at::Tensor keep = ops::KeepMask(mask, rows, columns).to(at::kCUDA);
  mask.rows.samples = mask.rows.samples.to(at::kCUDA);
  at::Tensor x = Random({rows, columns}, at::kFloat).abs().add(1).to(type);
  if (misaligned) {
    x = Misaligned(x);
  }
  const at::Tensor out = at::empty({rows, columns}, On(type)), sum = Random({rows, columns}, type),
                   before = sum.to(at::kDouble);
  const at::Tensor expected = x.to(at::kDouble) * keep.to(at::kDouble) * mask.scale();
  C10_CUDA_CHECK(fused::DropoutForward(Describe(x, mask), out.data_ptr(), Stream()));
  checks.Equal(name + " mask", out != 0, keep);
  checks.Near(name, out, expected);
  C10_CUDA_CHECK(fused::DropoutAdd(Describe(x, mask), sum.data_ptr(), sum.data_ptr(), Stream()));
  checks.Near(name + " added", sum, before + expected);
  const at::Tensor other = before.to(type);
  C10_CUDA_CHECK(fused::DropoutAdd(Describe(x, mask), other.data_ptr(), x.data_ptr(), Stream()));
  checks.Equal(name + " added over x", x, sum);
}

}  // namespace

void CheckDropouts(Checks& checks) {
  for (const at::ScalarType type : kTypes) {
    for (const auto& [rows, columns] :
         {std::pair<int64_t, int64_t>{1, 8}, {100, 12}, {33, 100}, {300, 4096}, {64, 11008}}) {
      CheckDropout(checks, rows, columns, type, false);
      CheckDropout(checks, rows, columns, type, true);
    }
  }
}

}  // namespace trainctl::gpu
