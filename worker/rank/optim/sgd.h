// Stochastic gradient descent with momentum as torch.optim.SGD (dampening 0, no Nesterov).
#pragma once

#include "worker/rank/optim/optimizer.h"

namespace trainctl::optim {

class Sgd : public Optimizer {
 public:
  Sgd(const OptimizerOptions& options, const std::vector<FlatBuffer>& buffers);
  void Update(size_t index, const FlatUpdate& flat, const StepRates& rates) override;
  std::vector<StateTensor> State(size_t index) override;
  int64_t StateBytes() const override;

 private:
  job::OptimizerSpec spec_;
  job::EngineKind engine_;
  std::vector<at::Tensor> momenta_;  // empty without momentum
};

}  // namespace trainctl::optim
