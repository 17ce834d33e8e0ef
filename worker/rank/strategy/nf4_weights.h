// Frozen matrices in 4 bits (ops/nf4.h), whole on every rank. A matrix is quantized as it is
// loaded, each tensor of the checkpoint for itself. It is made whole in the compute dtype at its
// first use in a unit's pass; the pass's end lets go of it.
#pragma once

#include <vector>

#include "worker/rank/ops/nf4.h"
#include "worker/rank/strategy/weight_store.h"

namespace trainctl::strategy {

struct Nf4Options {
  at::TensorOptions compute;  // device and dtype that matrices are made whole in
  bool double_quantization = false;
  bool fused = false;  // on CUDA: by the fused kernels
};

class Nf4Weights : public WeightStore {
 public:
  // Holds all parameters that are marked as quantized.
  Nf4Weights(const ops::ParameterTable& table, const Nf4Options& options);

  void BeginUnit(ops::UnitId, ops::Pass) override {}
  void EndUnit(ops::UnitId unit, ops::Pass pass) override;
  bool Holds(ops::ParamId param) const override { return table_.params[param].quantized; }
  at::Tensor Weight(ops::ParamId param) override;
  // values: all rows of one piece (CHECK), since blocks of 64 elements and of 256 scales begin at
  // each tensor's start.
  void SetRows(ops::ParamId param, int64_t row, const at::Tensor& values) override;
  at::Tensor GetRows(ops::ParamId param) override;
  void FinishLoading() override {}
  int64_t HeldBytes() const override;

 private:
  at::Tensor Dequantize(ops::ParamId param) const;

  const ops::ParameterTable& table_;
  const Nf4Options options_;
  at::Tensor map_;                                     // of scales under double quantization
  std::vector<std::vector<ops::Nf4Matrix>> matrices_;  // by parameter and piece
  std::vector<at::Tensor> whole_;                      // by parameter; undefined: not in use
};

}  // namespace trainctl::strategy
