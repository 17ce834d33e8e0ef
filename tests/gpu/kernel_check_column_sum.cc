#include <ATen/TensorOperators.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

#include <cmath>

#include "tests/gpu/kernel_checks.h"
#include "tests/gpu/kernel_device.h"

namespace trainctl::gpu {
namespace {

namespace fused = ops::fused;

// Columns [first, first + columns) of rows that are `width` wide.
struct ColumnsCase {
  int64_t rows, width, first, columns;
};

const ColumnsCase kColumnsCases[] = {
    {0, 8, 0, 8},          {1, 1, 0, 1},          {3, 37, 0, 37},           {100, 256, 0, 256},
    {4112, 1408, 0, 1408}, {1312, 7680, 0, 2560}, {1312, 7680, 2560, 2560}, {700, 100, 3, 50},
    {33, 6144, 0, 6144},   {5000, 8, 0, 8},       {64, 50304, 0, 50304},
};

void CheckColumnSum(Checks& checks, const ColumnsCase& c, at::ScalarType type,
                    at::ScalarType grad_type, float beta) {
  const std::string name = "ColumnSum " + NameOf(type) + " into " + NameOf(grad_type) +
                           Text({c.rows, c.width, c.first, c.columns, static_cast<int64_t>(beta)});
  const at::Tensor wide = Random({c.rows, c.width}, type);
  const at::Tensor x = wide.narrow(1, c.first, c.columns);
  const at::Tensor before = beta == 0 ? at::full({c.columns}, std::nan(""), On(grad_type))
                                      : Random({c.columns}, grad_type);
  const auto run = [&] {
    const at::Tensor grad = before.clone();
    const at::Tensor workspace =
        at::full({static_cast<int64_t>(fused::ColumnSumWorkspaceFloats(c.rows, c.columns))},
                 std::nan(""), On(at::kFloat));
    C10_CUDA_CHECK(fused::AddColumnSums({.element = TypeOf(x),
                                         .rows = c.rows,
                                         .columns = c.columns,
                                         .row_stride = c.width,
                                         .x = x.data_ptr(),
                                         .grad = grad.data_ptr(),
                                         .grad_type = TypeOf(grad),
                                         .beta = beta,
                                         .workspace = workspace.data_ptr<float>()},
                                        Stream()));
    return grad;
  };
  at::Tensor expected = x.to(at::kDouble).sum(0);
  if (beta != 0) expected = expected + before.to(at::kDouble) * beta;
  const at::Tensor grad = run();
  checks.Near(name, grad, expected, 2e-5);
  checks.Equal(name + " twice", run(), grad);
}

}  // namespace

void CheckColumnSums(Checks& checks) {
  for (const ColumnsCase& c : kColumnsCases) {
    for (const at::ScalarType type : kTypes) {
      CheckColumnSum(checks, c, type, type, 0);
      CheckColumnSum(checks, c, type, at::kFloat, 1);
    }
  }
}

}  // namespace trainctl::gpu
