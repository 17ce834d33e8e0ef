// AdamW with block-wise 8-bit moments, as bitsandbytes' AdamW8bit (Dettmers et al. 2022,
// arXiv:2110.02861; percentile clipping off). Blocks have 256 elements from each tensor's start.
// The scale of each block (absmax) is the largest magnitude of its moments, in fp32. Each element
// has a code of the dynamic map (ops/dynamic_map.h). Tensors below 4,096 elements keep fp32
// moments. The arithmetic is fp32, whatever the parameters.
//
// State: exp_avg and exp_avg_sq are codes (uint8) or, of small tensors, fp32; exp_avg_absmax and
// exp_avg_sq_absmax, a value for each 256 elements, belong to codes only.
#pragma once

#include "worker/rank/optim/optimizer.h"

namespace trainctl::optim {

class AdamW8bit : public Optimizer {
 public:
  static constexpr int64_t kBlock = 256;
  static constexpr int64_t kSmallTensor = 4096;

  AdamW8bit(const OptimizerOptions& options, const std::vector<FlatBuffer>& buffers);
  void Update(size_t index, const FlatUpdate& flat, const StepRates& rates) override;
  std::vector<StateTensor> State(size_t index) override;
  int64_t StateBytes() const override;

 private:
  // Neighbouring tensors of a buffer with moments of one kind, whole blocks.
  struct Run {
    int64_t begin = 0;
    int64_t numel = 0;
    bool is_small = false;
    at::Tensor first, second;                // codes, or fp32
    at::Tensor first_absmax, second_absmax;  // of codes only
  };

  void UpdateSmall(const Run& run, const FlatUpdate& flat, const StepRates& rates,
                   bool fused) const;
  void UpdateCodes(const Run& run, const FlatUpdate& flat, const StepRates& rates) const;

  job::OptimizerSpec spec_;
  job::EngineKind engine_;
  at::Tensor signed_map_, unsigned_map_, signed_bounds_, unsigned_bounds_;  // of the reference
  at::Tensor tables_;                                                       // of the fused kernel
  std::vector<std::vector<Run>> runs_;                                      // by buffer
};

}  // namespace trainctl::optim
