// Where the frozen weights of a model live, and how a unit's are made whole for the ops. One file
// an implementation:
//   resident   whole on every rank
//   gathered   sharded over the ranks, whole while a unit is in use
//   nf4        4 bits, dequantized while in use
// Not thread-safe.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "worker/rank/ops/parameters.h"

namespace trainctl::strategy {

class WeightStore {
 public:
  virtual ~WeightStore() = default;
  virtual void BeginMicroStep(bool last) { static_cast<void>(last); }
  virtual void EndStep() {}
  // As ops::ParameterAccess's, for the parameters that this store holds.
  virtual void BeginUnit(ops::UnitId unit, ops::Pass pass) = 0;
  virtual void EndUnit(ops::UnitId unit, ops::Pass pass) = 0;
  virtual at::Tensor Weight(ops::ParamId param) = 0;

  virtual bool Holds(ops::ParamId param) const = 0;

  // As Strategy's.
  virtual void SetRows(ops::ParamId param, int64_t row, const at::Tensor& values) = 0;
  virtual at::Tensor GetRows(ops::ParamId param) = 0;
  virtual void FinishLoading() = 0;

  // Bytes held on the device now.
  virtual int64_t HeldBytes() const = 0;
};

}  // namespace trainctl::strategy
