// A model: forward-only code for one device, written in ops::layers. It names its parameters and
// units; strategies and precision are none of its business. Thread-safe: immutable after
// construction.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/job/job.h"
#include "common/model/model_shape.h"
#include "worker/rank/ops/layers.h"

namespace trainctl::model {

// Rows of one micro step, padded to one length.
struct MicroBatch {
  int64_t rows = 0;
  int64_t length = 0;
  at::Tensor inputs;        // [rows · length] int64, on the device
  at::Tensor targets;       // [rows · length] int64, shifted by one already; −100: ignored
  at::Tensor samples = {};  // [rows] int64, on the device: each row's number among all rows of the
                            // run's steps, in order; none: evaluation
  at::Tensor loss_sum;      // fp64 scalar on the device: receives the sum of the rows' losses
  double grad_scale = 1;    // 1 / non-ignored targets of the global batch
  at::Tensor images = {};   // [rows, 3, side, side] fp32, on the device: of a model of pictures,
                            // whose rows begin with as many placeholders as it has queries
  int64_t longest_row = 0;  // without its padding; 0: that of the longest segment, or length
  std::shared_ptr<const ops::Segments> segments = {};  // of packed rows; none: a sample a row
  ops::KvCache* cache = nullptr;  // of texts that are continued: inputs [length] are its rows, and
                                  // `rows` is 1; nothing is recorded, and there is no loss

  // Positions of the longest row.
  int64_t longest() const {
    return longest_row > 0 ? longest_row : segments ? segments->longest : length;
  }
};

struct ModelOptions {
  at::Device device = at::kCPU;
  int64_t max_length = 0;        // of any micro batch, padded
  int64_t checkpoint_every = 0;  // activation checkpointing: 0 none, n every n-th block
  std::optional<job::LoraSpec> lora = {};
  bool quantize = false;                 // the frozen matrices of blocks, in 4 bits
  int64_t longest_row = 0;               // without its padding
  std::vector<std::string> freeze = {};  // parts
  bool trains = true;                    // false: all is frozen, adapters too
};

// What a job says of all this, for rules that are shared with the estimate.
job::JobSpec JobOf(const ModelOptions& options);

class Model {
 public:
  virtual ~Model() = default;
  virtual const ops::ParameterTable& parameters() const = 0;
  // The last hidden state [rows · length, H], before the final norm.
  virtual ops::Var Hidden(ops::Context& context, const MicroBatch& batch) const = 0;
  // Hidden, then head and loss. With a recording tape, tape.Backward() leaves the gradients with
  // the strategy.
  virtual void Loss(ops::Context& context, const MicroBatch& batch) const = 0;
  // Hidden, then the head of these rows [n] int64 of it: their logits [n, V]. Forward only.
  virtual at::Tensor Logits(ops::Context& context, const MicroBatch& batch,
                            const at::Tensor& rows) const = 0;
  virtual double norm_eps() const = 0;
};

// The families of the table, by config.json's model_type.
std::vector<std::string> FamilyNames();

// One of these. kInvalid: a family that is not in the table; what CheckModel refuses. The message
// names it.
base::Result<std::unique_ptr<Model>> MakeModel(const job::ModelShape& shape,
                                               const ModelOptions& options);

}  // namespace trainctl::model
