#include "worker/rank/strategy/nf4_weights.h"

#include <ATen/ops/empty.h>

#include <algorithm>

#include "common/base/check.h"
#include "worker/rank/ops/dynamic_map.h"
#include "worker/rank/ops/fused_nf4.h"
#include "worker/rank/strategy/tensor_bytes.h"

namespace trainctl::strategy {

Nf4Weights::Nf4Weights(const ops::ParameterTable& table, const Nf4Options& options)
    : table_(table),
      options_(options),
      matrices_(table.params.size()),
      whole_(table.params.size()) {
  if (options.double_quantization)
    map_ = ops::DynamicMap(/*is_signed=*/true).to(options.compute.device());
  for (size_t param = 0; param < table.params.size(); ++param) {
    if (table.params[param].quantized) matrices_[param].resize(table.params[param].pieces.size());
  }
}

void Nf4Weights::SetRows(ops::ParamId param, int64_t row, const at::Tensor& values) {
  const std::vector<ops::ParamPiece>& pieces = table_.params[param].pieces;
  const auto piece = std::find_if(pieces.begin(), pieces.end(),
                                  [&](const ops::ParamPiece& p) { return p.row == row; });
  CHECK(piece != pieces.end() && piece->rows == values.size(0))
      << "rows " << row << " + " << values.size(0) << " of " << pieces[0].name;
  const at::Tensor local = values.to(options_.compute.device());
  ops::Nf4Matrix& matrix = matrices_[param][piece - pieces.begin()];
  matrix = options_.fused ? ops::FusedNf4Quantize(local, options_.double_quantization)
                          : ops::Nf4Quantize(local, options_.double_quantization);
}

at::Tensor Nf4Weights::Dequantize(ops::ParamId param) const {
  const ops::ParamSpec& spec = table_.params[param];
  const at::Tensor whole = at::empty(spec.shape, options_.compute);
  for (size_t i = 0; i < spec.pieces.size(); ++i) {
    const at::Tensor rows = whole.narrow(0, spec.pieces[i].row, spec.pieces[i].rows);
    CHECK(matrices_[param][i].codes.defined()) << spec.pieces[i].name << " was never loaded";
    if (options_.fused) {
      ops::FusedNf4DequantizeInto(rows, matrices_[param][i], map_);
    } else {
      ops::Nf4DequantizeInto(rows, matrices_[param][i]);
    }
  }
  return whole;
}

at::Tensor Nf4Weights::Weight(ops::ParamId param) {
  if (!whole_[param].defined()) whole_[param] = Dequantize(param);
  return whole_[param];
}

at::Tensor Nf4Weights::GetRows(ops::ParamId param) { return Dequantize(param); }

void Nf4Weights::EndUnit(ops::UnitId unit, ops::Pass) {
  for (const ops::ParamId param : table_.units[unit].params) whole_[param].reset();
}

int64_t Nf4Weights::HeldBytes() const {
  int64_t bytes = Bytes(whole_) + Bytes(map_);
  for (const std::vector<ops::Nf4Matrix>& pieces : matrices_) {
    for (const ops::Nf4Matrix& matrix : pieces) bytes += matrix.bytes();
  }
  return bytes;
}

}  // namespace trainctl::strategy
