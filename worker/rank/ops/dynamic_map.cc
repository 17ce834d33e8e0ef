#include "worker/rank/ops/dynamic_map.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/linspace.h>
#include <ATen/ops/sort.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "common/base/check.h"
#include "worker/rank/ops/fused.h"

namespace trainctl::ops {
namespace {

constexpr int kExponents = 7;

int CodeOf(const float* bounds, float x) {
  return static_cast<int>(std::lower_bound(bounds, bounds + 255, x) - bounds);
}

// The least and the greatest number of a cell (fused.h).
std::pair<float, float> CellRange(bool negative, uint32_t cell) {
  const uint32_t bits = (fused::kFirstCell + cell) << 16;
  const float low = cell == 0 ? 0 : std::bit_cast<float>(bits);
  const float high = cell + 1 == fused::kCells ? INFINITY : std::bit_cast<float>(bits | 0xffff);
  return negative ? std::pair(-high, -low) : std::pair(low, high);
}

void FillTable(bool is_signed, fused::DynamicTable* table) {
  const at::Tensor map = DynamicMap(is_signed), bounds = DynamicBounds(map);
  std::copy_n(map.const_data_ptr<float>(), 256, table->value);
  std::copy_n(bounds.const_data_ptr<float>(), 255, table->bound);
  table->bound[255] = INFINITY;
  for (const bool negative : {false, true}) {
    for (uint32_t cell = 0; cell < fused::kCells; ++cell) {
      const auto [least, greatest] = CellRange(negative, cell);
      const int code = CodeOf(table->bound, least);
      CHECK(CodeOf(table->bound, greatest) <= code + 1) << "cell " << cell << " spans three codes";
      table->first[negative ? 1 : 0][cell] = static_cast<uint8_t>(code);
    }
  }
}

}  // namespace

// As bitsandbytes.functional.create_dynamic_map computes it, in the same operations, for the same
// bits: in the decade 10^(e − 6) the middles of equal parts of [0.1, 1], twice as many in each next
// decade.
at::Tensor DynamicMap(bool is_signed) {
  const at::Tensor ends = at::tensor({0.0f, 1.0f});
  std::vector<at::Tensor> values{ends};
  for (int e = 0; e < kExponents; ++e) {
    const int64_t items = (int64_t{1} << (is_signed ? e : e + 1)) + 1;
    const at::Tensor bounds = at::linspace(0.1, 1, items, at::kFloat);
    const at::Tensor means =
        (bounds.narrow(0, 0, items - 1) + bounds.narrow(0, 1, items - 1)) / 2.0;
    const double decade = std::pow(10.0, e - (kExponents - 1));
    values.push_back(means * decade);
    if (is_signed) values.push_back(means * -decade);
  }
  return std::get<0>(at::sort(at::cat(values)));
}

at::Tensor DynamicBounds(const at::Tensor& map) {
  return (map.narrow(0, 0, 255) + map.narrow(0, 1, 255)) / 2;
}

at::Tensor DynamicTables(c10::Device device) {
  const at::Tensor bytes = at::empty({static_cast<int64_t>(sizeof(fused::DynamicTables))},
                                     at::TensorOptions().dtype(at::kByte));
  auto* tables = static_cast<fused::DynamicTables*>(bytes.data_ptr());
  FillTable(/*is_signed=*/true, &tables->of_signed);
  FillTable(/*is_signed=*/false, &tables->of_unsigned);
  return bytes.to(device);
}

}  // namespace trainctl::ops
