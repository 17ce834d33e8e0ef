// The weights that a model with adapters stands for: W + scale · B · A, in fp32.
#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <string>
#include <vector>

#include "common/job/job.h"
#include "worker/rank/ops/parameters.h"
#include "worker/rank/strategy/strategy.h"

namespace trainctl::train {

class AdapterMerger {
 public:
  // Without lora there is nothing to add. All arguments outlive it.
  AdapterMerger(const job::JobSpec& job, const ops::ParameterTable& table,
                strategy::Strategy& strategy);

  // Each piece of a parameter of the model's own, in order: its rows with what its adapter adds.
  // Every rank calls it alike.
  std::vector<at::Tensor> Pieces(ops::ParamId param) const;

 private:
  struct Place {
    ops::ParamId param = 0;
    int64_t row = 0;
    int64_t rows = 0;
  };

  at::Tensor Wide(const std::string& name) const;

  const ops::ParameterTable& table_;
  strategy::Strategy& strategy_;
  double scale_ = 0;
  std::map<std::string, Place> adapters_;  // by name
};

}  // namespace trainctl::train
