// Optimizers over flat buffers: one buffer a unit, one state a buffer. The arithmetic is torch.optim's; on CUDA the fused engine does it in
// one kernel. Not thread-safe.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "common/job/job.h"

namespace trainctl::optim {

// What changes from step to step.
struct StepRates {
  int64_t step = 1;         // of the optimizer, from 1
  double lr = 0;            // after the schedule
  at::Tensor grad_scale;    // fp32 scalar on the device that gradients are multiplied by (clipping); undefined: 1
};

// One flat buffer to update: equal sizes, all on one device. compute: the copy that is rewritten from the master; undefined where the
// master itself is computed with.
struct FlatUpdate {
  at::Tensor master;   // fp32, or bf16 under bf16-true
  at::Tensor grad;     // same dtype as the master; may be overwritten
  at::Tensor compute;  // bf16
};

class Optimizer {
 public:
  virtual ~Optimizer() = default;
  // Updates buffer `index` in place.
  virtual void Update(size_t index, const FlatUpdate& flat, const StepRates& rates) = 0;
  // Bytes of state, all buffers.
  virtual int64_t StateBytes() const = 0;
};

// State is allocated at once: for each of `buffers` (the masters, in order), zeroed, in the master's dtype.
std::unique_ptr<Optimizer> MakeOptimizer(const job::OptimizerSpec& spec, job::EngineKind engine, const std::vector<at::Tensor>& buffers);

}  // namespace trainctl::optim
