// A strategy owns the parameters, gradients and optimizer state of one rank, and decides where they live and when they are reduced and
// updated. Models reach it through ops::ParameterAccess only; the trainer through what is below. Not thread-safe. Errors: comm::CommError,
// c10::OutOfMemoryError.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <optional>

#include "common/job/batch.h"
#include "common/job/job.h"
#include "worker/comm/communicator.h"
#include "worker/ops/parameters.h"

namespace trainctl::strategy {

struct StrategyOptions {
  job::JobSpec job;  // resolved
  int64_t accumulation = 1;
  at::Device device = at::kCPU;
  comm::Communicator* comm = nullptr;  // of the gang; outlives the strategy
};

// Bytes that this rank holds now.
struct HeldBytes {
  int64_t params = 0;
  int64_t grads = 0;
  int64_t optimizer = 0;
  int64_t optimizer_cpu = 0;
};

class Strategy : public ops::ParameterAccess {
 public:
  // Rows [row, row + values.size(0)) of a parameter, from a tensor of any dtype on any device. Every rank calls it alike.
  virtual void SetRows(ops::ParamId param, int64_t row, const at::Tensor& values) = 0;
  // All rows, of the storage dtype (fp32 masters where there are such), valid until the next call. Every rank calls it alike.
  virtual at::Tensor GetRows(ops::ParamId param) = 0;
  // After the last SetRows.
  virtual void FinishLoading() = 0;

  // One optimizer step: BeginStep, then for each micro step BeginMicroStep, the model's forward and backward, then FinishStep.
  virtual void BeginStep(int64_t step, double lr, bool want_grad_norm) = 0;
  virtual void BeginMicroStep(int64_t micro_step) = 0;
  // Everything is reduced and updated. The norm of the whole gradient, before clipping, as an fp32 scalar on the device: undefined unless
  // wanted or clipped by.
  virtual at::Tensor FinishStep() = 0;

  virtual HeldBytes Held() const = 0;
};

// The table of strategies. The job's combination has passed the check.
std::unique_ptr<Strategy> MakeStrategy(const ops::ParameterTable& table, const StrategyOptions& options);

}  // namespace trainctl::strategy
