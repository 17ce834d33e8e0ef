#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

#include "tests/gpu/kernel_checks.h"
#include "tests/gpu/kernel_device.h"
#include "worker/rank/ops/dynamic_map.h"
#include "worker/rank/ops/fused_nf4.h"

namespace trainctl::gpu {
namespace {

// Both formats are the plain implementation's on the CPU, bit for bit; but for the offset, a mean,
// whose sum the CPU orders otherwise.
void CheckNf4(Checks& checks, int64_t rows, int64_t columns, at::ScalarType type) {
  const std::string name = "Nf4 " + NameOf(type) + Text({rows, columns});
  at::Tensor values = (Random({rows, columns}, at::kFloat) * 0.02).to(type);
  values.view({-1, 64})[0].zero_();
  const at::Tensor map = ops::DynamicMap(true).to(at::kCUDA);
  const ops::Nf4Matrix plain = ops::Nf4Quantize(values.cpu(), false),
                       fused = ops::FusedNf4Quantize(values, false);
  checks.Equal(name + " codes", fused.codes.cpu(), plain.codes);
  checks.Equal(name + " scales", fused.scales.cpu(), plain.scales);
  const ops::Nf4Matrix twice = ops::FusedNf4Quantize(values, true);
  checks.Equal(name + " codes, double", twice.codes.cpu(), plain.codes);
  for (const at::ScalarType to : kTypes) {
    const at::Tensor out = at::empty(values.sizes(), On(to)),
                     want = at::empty(values.sizes(), On(to)), want_twice = at::empty_like(out);
    ops::FusedNf4DequantizeInto(out, fused, map);
    ops::Nf4DequantizeInto(want, fused);
    checks.Equal(name + " to " + NameOf(to), out, want);
    ops::FusedNf4DequantizeInto(out, twice, map);
    ops::Nf4DequantizeInto(want_twice, twice);
    checks.Equal(name + " to " + NameOf(to) + ", double", out, want_twice);
  }
}

}  // namespace

void CheckNf4s(Checks& checks) {
  for (const at::ScalarType type : kTypes) {
    for (const auto& [rows, columns] :
         {std::pair<int64_t, int64_t>{1, 64}, {3, 192}, {300, 64}, {1024, 1024}, {4096, 11008}}) {
      CheckNf4(checks, rows, columns, type);
    }
  }
}

}  // namespace trainctl::gpu
