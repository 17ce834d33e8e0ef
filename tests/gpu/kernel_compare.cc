#include "tests/gpu/kernel_compare.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/abs.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/isnan.h>

#include <cstdio>

namespace trainctl::gpu {

void Checks::Near(const std::string& what, const at::Tensor& got, const at::Tensor& want,
                  double fp32_tolerance, double floor) {
  if (got.sizes() != want.sizes()) {
    return Record(what, false, "another shape");
  }
  if (got.numel() == 0) {
    return Record(what, true, "");
  }
  constexpr double kHalfUnitOfBf16 = 1.0 / 256;
  const at::Tensor wide = got.to(at::kDouble);
  const at::Tensor size = at::abs(want);
  const double rounding = got.scalar_type() == at::kBFloat16 ? kHalfUnitOfBf16 : 0;
  const at::Tensor allowed =
      size * (rounding + fp32_tolerance) + size.max() * fp32_tolerance + floor + 1e-30;
  const at::Tensor excess = at::abs(wide - want) / allowed;
  const double worst = excess.max().item<double>();
  const bool ok = !at::isnan(excess).any().item<bool>() && worst <= 1;
  const int64_t index = excess.reshape({-1}).argmax().item<int64_t>();
  Record(what, ok,
         "worst at " + std::to_string(index) + ": " +
             std::to_string(wide.reshape({-1})[index].item<double>()) + ", expected " +
             std::to_string(want.reshape({-1})[index].item<double>()) + ", " +
             std::to_string(worst) + " times the tolerance");
}

void Checks::Equal(const std::string& what, const at::Tensor& got, const at::Tensor& want) {
  Record(what, got.scalar_type() == want.scalar_type() && at::equal(got, want),
         "not the same bits");
}

void Checks::True(const std::string& what, bool condition) { Record(what, condition, "not true"); }

void Checks::Record(const std::string& what, bool ok, const std::string& detail) {
  ++done_;
  if (!ok) {
    ++failed_;
    std::printf("FAILED %s: %s\n", what.c_str(), detail.c_str());
  }
}

}  // namespace trainctl::gpu
