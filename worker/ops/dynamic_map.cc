#include "worker/ops/dynamic_map.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/linspace.h>
#include <ATen/ops/sort.h>
#include <ATen/ops/tensor.h>

#include <cmath>
#include <vector>

namespace trainctl::ops {
namespace {

constexpr int kExponents = 7;

}  // namespace

// As bitsandbytes.functional.create_dynamic_map computes it, in the same operations, for the same bits: in the decade 10^(e − 6) the
// middles of equal parts of [0.1, 1], twice as many in each next decade.
at::Tensor DynamicMap(bool is_signed) {
  const at::Tensor ends = at::tensor({0.0f, 1.0f});
  std::vector<at::Tensor> values{ends};
  for (int e = 0; e < kExponents; ++e) {
    const int64_t items = (int64_t{1} << (is_signed ? e : e + 1)) + 1;
    const at::Tensor bounds = at::linspace(0.1, 1, items, at::kFloat);
    const at::Tensor means = (bounds.narrow(0, 0, items - 1) + bounds.narrow(0, 1, items - 1)) / 2.0;
    const double decade = std::pow(10.0, e - (kExponents - 1));
    values.push_back(means * decade);
    if (is_signed) values.push_back(means * -decade);
  }
  return std::get<0>(at::sort(at::cat(values)));
}

at::Tensor DynamicBounds(const at::Tensor& map) { return (map.narrow(0, 0, 255) + map.narrow(0, 1, 255)) / 2; }

}  // namespace trainctl::ops
