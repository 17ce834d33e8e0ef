// Optimizers over flat buffers: one buffer a unit, one state a buffer. The arithmetic is
// torch.optim's; on CUDA the fused engine does it in one kernel. Not thread-safe.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/job/job.h"

namespace trainctl::optim {

// What changes from step to step.
struct StepRates {
  int64_t step = 1;       // of the optimizer, from 1
  double lr = 0;          // after the schedule
  at::Tensor grad_scale;  // fp32 scalar on the device that gradients are multiplied by (clipping);
                          // undefined: 1
};

// A part of a buffer that belongs to one tensor of the checkpoint, or to a shard of one. Begins at
// a multiple of 256 elements of both.
struct Segment {
  int64_t begin = 0;         // in the buffer
  int64_t numel = 0;         //
  int64_t tensor_numel = 0;  // of the whole tensor
};

// What an optimizer keeps state for: one flat buffer of master weights, or this rank's shard of
// one. Between segments lies padding: zeros, whose update is never looked at.
struct FlatBuffer {
  at::Tensor master;  // in host memory where the optimizer is offloaded
  std::vector<Segment> segments;
};

// One flat buffer to update: equal sizes, all on one device but for an offloaded master. compute:
// the copy that is rewritten from the master; undefined where the master itself is computed with.
struct FlatUpdate {
  at::Tensor master;  // fp32, or bf16 under bf16-true
  at::Tensor grad;  // of the master's dtype, or bf16 under an offloaded master; may be overwritten.
                    // An offloaded optimizer keeps a reference until it has read it: the caller
                    // drops its own, and nobody writes to it any more
  at::Tensor compute;  // bf16, or fp32 under an offloaded master
};

// A part of a buffer's state, as checkpoints hold it: 1-D, value i belongs to the buffer's elements
// begin + [i, i + 1) · elements_per_value. Kinds of one name may cover a buffer in several parts,
// and some of its tensors only.
struct StateTensor {
  std::string kind;  // "exp_avg", "exp_avg_sq", "momentum", "exp_avg_absmax", …
  at::Tensor values;
  int64_t elements_per_value = 1;
  int64_t begin = 0;

  // The view that belongs to `numel` elements of the buffer from `first` on. They are a segment of
  // it, or a part of one that begins at a multiple of 256. Undefined if this part does not cover
  // them.
  at::Tensor Of(int64_t first, int64_t numel) const;
};

class Optimizer {
 public:
  virtual ~Optimizer() = default;
  // Updates buffer `index` in place; where the optimizer is offloaded it only begins to, and Finish
  // waits for it: until then nobody reads or writes master, state and compute. At most two
  // gradients of an offloaded optimizer are alive: Update waits for room.
  virtual void Update(size_t index, const FlatUpdate& flat, const StepRates& rates) = 0;
  // All updates are made, as the current stream sees it.
  virtual void Finish() {}
  // Views of the state of buffer `index`, to be read and, when a checkpoint is loaded, written.
  virtual std::vector<StateTensor> State(size_t index) = 0;
  // Bytes of state of all buffers, on the device and (offloaded) in host memory; masters are not
  // counted.
  virtual int64_t StateBytes() const = 0;
  virtual int64_t HostStateBytes() const { return 0; }
};

struct OptimizerOptions {
  job::OptimizerSpec spec;
  job::EngineKind engine = job::EngineKind::kFused;
  bool offload =
      false;  // state and masters in host memory; masters are made by HostTensor (host_tensor.h)
  int64_t threads = 1;            // of an offloaded optimizer
  c10::Device device = at::kCPU;  // that the gradients of an offloaded optimizer are on
};

// State is allocated at once for each of `buffers`, in order, zeroed.
std::unique_ptr<Optimizer> MakeOptimizer(const OptimizerOptions& options,
                                         const std::vector<FlatBuffer>& buffers);

}  // namespace trainctl::optim
