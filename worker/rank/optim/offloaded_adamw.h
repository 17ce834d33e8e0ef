// AdamW with fp32 masters and moments in host memory, updated by the CPU: the arithmetic of
// adam_kernel.h, on CPU slots and beside GPUs alike. Update waits while the gradient before last is
// still being fetched (update_pipeline.h). Also throws HostMemoryError when made.
#pragma once

#include "worker/rank/optim/optimizer.h"
#include "worker/rank/optim/update_pipeline.h"

namespace trainctl::optim {

class OffloadedAdamW : public Optimizer {
 public:
  OffloadedAdamW(const OptimizerOptions& options, const std::vector<FlatBuffer>& buffers);

  void Update(size_t index, const FlatUpdate& flat, const StepRates& rates) override;
  void Finish() override { pipeline_.Finish(); }
  std::vector<StateTensor> State(size_t index) override;
  int64_t StateBytes() const override { return 0; }
  int64_t HostStateBytes() const override;

 private:
  job::OptimizerSpec spec_;
  std::vector<at::Tensor> first_moments_, second_moments_;
  UpdatePipeline pipeline_;  // ends before the moments do
};

}  // namespace trainctl::optim
