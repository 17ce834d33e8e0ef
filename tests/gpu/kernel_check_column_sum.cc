#include <ATen/TensorOperators.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

#include <cmath>
#include <numeric>
#include <vector>

#include "tests/gpu/kernel_checks.h"
#include "tests/gpu/kernel_device.h"

namespace trainctl::gpu {
namespace {

namespace fused = ops::fused;

// The columns from `first` on of rows that are `width` wide, as `parts` wide vectors side by side.
struct ColumnsCase {
  int64_t rows, width, first;
  std::vector<int64_t> parts;
};

const ColumnsCase kColumnsCases[] = {
    {0, 8, 0, {8}},
    {1, 1, 0, {1}},
    {3, 37, 0, {37}},
    {100, 256, 0, {256}},
    {4112, 1408, 0, {1408}},
    {1312, 7680, 0, {2560, 2560, 2560}},
    {1312, 7680, 2560, {2560, 512}},
    {700, 100, 3, {20, 30}},
    {33, 6144, 0, {6144}},
    {5000, 8, 0, {8}},
    {5000, 12, 0, {4, 4, 4}},
    {64, 50304, 0, {50304}},
    {20, 33'001, 0, {33'001}},
};

void CheckColumnSum(Checks& checks, const ColumnsCase& c, at::ScalarType type,
                    at::ScalarType grad_type, float beta) {
  const int64_t columns = std::accumulate(c.parts.begin(), c.parts.end(), int64_t{0});
  const std::string name =
      "ColumnSum " + NameOf(type) + " into " + NameOf(grad_type) +
      Text({c.rows, c.width, c.first, columns, std::ssize(c.parts), static_cast<int64_t>(beta)});
  const at::Tensor wide = Random({c.rows, c.width}, type);
  const at::Tensor x = wide.narrow(1, c.first, columns);
  const at::Tensor before =
      beta == 0 ? at::full({columns}, std::nan(""), On(grad_type)) : Random({columns}, grad_type);
  const auto run = [&] {
    const at::Tensor grad = before.clone();
    fused::ColumnSum sum{.element = TypeOf(x),
                         .rows = c.rows,
                         .row_stride = c.width,
                         .x = x.data_ptr(),
                         .grad_type = TypeOf(grad)};
    int64_t column = 0;
    for (size_t i = 0; i < c.parts.size(); column += c.parts[i++]) {
      sum.grads[i] = {.grad = grad.narrow(0, column, c.parts[i]).data_ptr(),
                      .columns = c.parts[i],
                      .beta = beta};
    }
    C10_CUDA_CHECK(fused::AddColumnSums(sum, Stream()));
    return grad;
  };
  at::Tensor expected = x.to(at::kDouble).sum(0);
  if (beta != 0) expected = expected + before.to(at::kDouble) * beta;
  const at::Tensor grad = run();
  checks.Near(name, grad, expected, 2e-5);
  checks.Equal(name + " twice", run(), grad);
}

void CheckAddRow(Checks& checks, int64_t rows, int64_t columns, at::ScalarType type,
                 bool misaligned) {
  const std::string name = "AddRow " + NameOf(type) + Text({rows, columns, misaligned});
  at::Tensor x = Random({rows, columns}, type);
  if (misaligned) {
    x = Misaligned(x);
  }
  const at::Tensor row = Random({columns}, type),
                   out = at::full({rows, columns}, std::nan(""), On(type));
  const fused::RowSum sum{.element = TypeOf(x),
                          .rows = rows,
                          .columns = columns,
                          .x = x.data_ptr(),
                          .row = row.data_ptr()};
  C10_CUDA_CHECK(fused::AddRow(sum, out.data_ptr(), Stream()));
  checks.Near(name, out, x.to(at::kDouble) + row.to(at::kDouble));
  C10_CUDA_CHECK(fused::AddRow(sum, x.data_ptr(), Stream()));
  checks.Equal(name + " in place", x, out);
}

}  // namespace

void CheckColumnSums(Checks& checks) {
  for (const ColumnsCase& c : kColumnsCases) {
    for (const at::ScalarType type : kTypes) {
      CheckColumnSum(checks, c, type, type, 0);
      CheckColumnSum(checks, c, type, at::kFloat, 1);
    }
  }
  for (const at::ScalarType type : kTypes) {
    for (const auto& [rows, columns] :
         {std::pair<int64_t, int64_t>{1, 8}, {5, 7}, {4112, 1408}, {20, 9216}}) {
      CheckAddRow(checks, rows, columns, type, false);
      CheckAddRow(checks, rows, columns, type, true);
    }
  }
}

}  // namespace trainctl::gpu
