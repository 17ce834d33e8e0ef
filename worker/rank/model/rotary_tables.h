// The cosines and sines of the rotary embedding (Su et al. 2021), with the changes of their
// frequencies for longer texts: linear, dynamic, llama3 (Dubey et al. 2024), YaRN (Peng et al.
// 2023). What they are at the rows of a micro batch.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>

#include "common/model/model_shape.h"
#include "worker/rank/model/model.h"
#include "worker/rank/ops/kv_cache.h"

namespace trainctl::model {

struct RotaryTables {
  at::Tensor cos, sin;  // [rows, head_dim / 2] fp32
};

// Immutable, thread-safe.
class Rotation {
 public:
  // Of a model without one.
  Rotation() = default;
  Rotation(const job::ModelShape& shape, int64_t max_length, at::Device device);

  // For each position of a sample; of packed rows and of texts that are continued, for each row.
  // "dynamic" frequencies are those of the longest row of the batch. A packed row has those of its
  // own length, a continued text those of its length so far. Undefined where there is no rotation.
  // Does not wait for the device.
  RotaryTables At(const MicroBatch& batch) const;

 private:
  // Whether a row of this length has frequencies of its own.
  bool IsBeyond(int64_t longest) const;
  // Of neighbouring positions, by the frequencies of a row that is so long.
  RotaryTables Range(int64_t first, int64_t count, int64_t longest) const;
  // Of texts side by side, whose positions these are, by the frequencies of each one's length.
  RotaryTables OfEach(std::span<const ops::TextSpan> spans, const at::Tensor& positions) const;

  job::ModelShape shape_;
  RotaryTables tables_;   // [max_length, head_dim / 2], of rows up to max_positions
  at::Tensor exponents_;  // [head_dim / 2] fp32
};

}  // namespace trainctl::model
