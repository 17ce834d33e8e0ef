// A strategy owns the parameters, gradients and optimizer state of one rank. It decides where they
// live and when they are reduced and updated. Models reach it through ops::ParameterAccess only;
// the trainer through what is below. Not thread-safe. Errors: comm::CommError,
// c10::OutOfMemoryError.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/job/batch.h"
#include "common/job/job.h"
#include "common/job/outcome.h"
#include "worker/rank/comm/communicator.h"
#include "worker/rank/ops/parameters.h"

namespace trainctl::strategy {

struct StrategyOptions {
  job::JobSpec job;  // resolved
  int64_t accumulation = 1;
  bool holds_gradients =
      false;  // fsdp: whole over the micro steps, and reduced once a step; not under deterministic
  at::Device device = at::kCPU;
  comm::Communicator* comm = nullptr;  // of the gang; outlives the strategy
  int64_t threads = 1;                 // of an offloaded optimizer
  // Called while the strategy is made: the weights have their memory, the optimizer's state not
  // yet.
  std::function<void()> on_weights_made = [] {};
};

// A part of one trainable tensor of the checkpoint or of its optimizer state, as this rank holds
// it. Checkpoints are made of these. Names, kinds and totals are the same under every strategy and
// world size. So a checkpoint of one can be loaded by another.
struct StateSlice {
  std::string tensor;              // "model.layers.0.self_attn.q_proj.weight"
  std::string kind;                // "master", or of optim::StateTensor
  int64_t elements_per_value = 1;  // of the tensor
  int64_t begin = 0;               // first value of the slice
  int64_t total = 0;               // values of the whole tensor
  at::Tensor values;               // 1-D view of the state itself
  bool writes = true;              // false: another rank holds the same and writes it
};

class Strategy : public ops::ParameterAccess {
 public:
  // Rows [row, row + values.size(0)) of a parameter, from a tensor of any dtype on any device.
  // Every rank calls it alike.
  virtual void SetRows(ops::ParamId param, int64_t row, const at::Tensor& values) = 0;
  // All rows, of the storage dtype (fp32 masters where there are such), valid until the next call.
  // Every rank calls it alike.
  virtual at::Tensor GetRows(ops::ParamId param) = 0;
  // After the last SetRows, and after State() was written to.
  virtual void FinishLoading() = 0;
  // Every slice that this rank holds, between steps. The views are valid until the next BeginStep.
  virtual std::vector<StateSlice> State() = 0;

  // One optimizer step: BeginStep, then for each micro step BeginMicroStep, the model's forward and
  // backward, then FinishStep.
  virtual void BeginStep(int64_t step, double lr, bool want_grad_norm) = 0;
  virtual void BeginMicroStep(int64_t micro_step) = 0;
  // Everything is reduced and updated. The norm of the whole gradient, before clipping, as an fp32
  // scalar on the device: undefined unless wanted or clipped by.
  virtual at::Tensor FinishStep() = 0;
  // Between steps: the norm of the trainable weights as they are computed with, an fp64 scalar on
  // the device. NaN or infinite where one of this rank's is. Every rank calls it alike.
  virtual at::Tensor WeightsNorm() = 0;

  // What this rank holds now by kind; of no kind of the device's sums, nor `other`.
  virtual job::MemoryByKind Held() const = 0;
};

// The table of strategies. The job's combination has passed the check.
std::unique_ptr<Strategy> MakeStrategy(const ops::ParameterTable& table,
                                       const StrategyOptions& options);

}  // namespace trainctl::strategy
