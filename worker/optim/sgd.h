// Stochastic gradient descent with momentum as torch.optim.SGD (dampening 0, no Nesterov).
#pragma once

#include "worker/optim/optimizer.h"

namespace trainctl::optim {

class Sgd : public Optimizer {
 public:
  Sgd(const job::OptimizerSpec& spec, job::EngineKind engine, const std::vector<at::Tensor>& buffers);
  void Update(size_t index, const FlatUpdate& flat, const StepRates& rates) override;
  int64_t StateBytes() const override;

 private:
  job::OptimizerSpec spec_;
  job::EngineKind engine_;
  std::vector<at::Tensor> momenta_;  // empty without momentum
};

}  // namespace trainctl::optim
