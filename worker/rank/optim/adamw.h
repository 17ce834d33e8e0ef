// AdamW (Loshchilov and Hutter 2019) as torch.optim.AdamW.
#pragma once

#include "worker/rank/optim/optimizer.h"

namespace trainctl::optim {

class AdamW : public Optimizer {
 public:
  AdamW(const OptimizerOptions& options, const std::vector<FlatBuffer>& buffers);
  void Update(size_t index, const FlatUpdate& flat, const StepRates& rates) override;
  std::vector<StateTensor> State(size_t index) override;
  int64_t StateBytes() const override;

 private:
  job::OptimizerSpec spec_;
  job::EngineKind engine_;
  std::vector<at::Tensor> first_moments_, second_moments_;
};

}  // namespace trainctl::optim
