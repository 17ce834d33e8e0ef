// The row-wise kernels under the ops, in two implementations of equal meaning: plain ATen (the
// reference, and what CPU runs), and fused CUDA (fused_kernels.h). Legend: N rows (batch × length),
// H hidden, F FFN width, V vocabulary, D head_dim; "compute dtype" is that of the activations,
// statistics are fp32 inside whatever it is.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "worker/rank/ops/dropout.h"
#include "worker/rank/ops/norm.h"
#include "worker/rank/ops/parameters.h"
#include "worker/rank/ops/segments.h"

namespace trainctl::ops {

// Of packed q, k, v rows: [heads · D | kv_heads · D | kv_heads · D].
struct HeadShape {
  int64_t batch = 0;
  int64_t length = 0;
  int64_t heads = 0;
  int64_t kv_heads = 0;
  int64_t head_dim = 0;
  bool is_causal = true;                          // else each row attends to all of its sample
  std::shared_ptr<const Segments> segments = {};  // that attend to themselves alone: batch is 1,
                                                  // and length all positions; none: samples do
  int64_t window = 0;  // positions that a causal row attends to, itself included; 0: all

  int64_t packed() const { return (heads + 2 * kv_heads) * head_dim; }
};

// Of `queries` rows of a sample over `keys` rows, which may be of something else. No mask.
struct CrossShape {
  int64_t batch = 0;
  int64_t queries = 0;
  int64_t keys = 0;
  int64_t heads = 0;
  int64_t head_dim = 0;
};
struct CrossAttended {
  at::Tensor rows;           // [batch · queries, heads · D]
  at::Tensor probabilities;  // [batch, heads, queries, keys], before the dropout
};

// Not thread-safe. All tensors on one device; outputs are fresh unless said otherwise.
class Kernels {
 public:
  virtual ~Kernels() = default;

  // Of x [N, H].
  virtual NormOutput Norm(const at::Tensor& x, const NormVectors& norm, double eps) const = 0;
  // residual_grad may be undefined (zero); it is not written to, grad may be.
  virtual NormGrads NormBackward(const at::Tensor& grad, const at::Tensor& x,
                                 const NormVectors& norm, const NormStatistics& statistics,
                                 const at::Tensor& residual_grad, const NormGradViews& views,
                                 bool normalized_wanted) const = 0;

  // Rotary embedding (Su et al. 2021, rotate-half), in place on the q and k heads of qkv [N,
  // packed]; cos, sin [length, D / 2] fp32.
  virtual void Rope(const at::Tensor& qkv, const at::Tensor& cos, const at::Tensor& sin,
                    const HeadShape& shape) const = 0;
  // Gradients of q, k, v as [batch, heads, length, D] of any strides → packed [N, packed], rotated
  // back. cos and sin undefined: nothing was rotated.
  virtual at::Tensor RopeBackward(const at::Tensor& q_grad, const at::Tensor& k_grad,
                                  const at::Tensor& v_grad, const at::Tensor& cos,
                                  const at::Tensor& sin, const HeadShape& shape) const = 0;

  // The sums of rows' columns, in fp32 or wider: the gradients of biases that lie side by side.
  // rows [N, Σ width].
  virtual void AddColumnSums(const at::Tensor& rows,
                             const std::vector<GradView>& targets) const = 0;
  // x [N, H] + row [H] in each row.
  virtual at::Tensor AddRow(const at::Tensor& x, const at::Tensor& row) const = 0;

  // gelu(x), as the error function has it (Hendrycks and Gimpel 2016).
  virtual at::Tensor Gelu(const at::Tensor& x) const = 0;
  // Takes grad of the output. Returns {gradient of x, the forward's output again (undefined if not
  // wanted)}. Both tensors may be overwritten.
  virtual std::pair<at::Tensor, at::Tensor> GeluBackward(const at::Tensor& grad,
                                                         const at::Tensor& x,
                                                         bool output_wanted) const = 0;

  // gate_up [N, 2F] → silu(gate) · up [N, F] (Shazeer 2020).
  virtual at::Tensor SwiGlu(const at::Tensor& gate_up) const = 0;
  // Takes grad [N, F] of the output. Returns {gradient of gate_up [N, 2F], the forward's output
  // again [N, F] (undefined if not wanted)}. Both tensors may be overwritten.
  virtual std::pair<at::Tensor, at::Tensor> SwiGluBackward(const at::Tensor& grad,
                                                           const at::Tensor& gate_up,
                                                           bool output_wanted) const = 0;

  // x [n, columns] without what the mask drops, the rest scaled by the mask's scale. The same plus
  // a sum, where x may be overwritten. And sum += the same of grad, in place.
  virtual at::Tensor Dropout(const at::Tensor& x, const DropoutMask& mask) const = 0;
  virtual at::Tensor DropoutPlus(const at::Tensor& x, const DropoutMask& mask,
                                 const at::Tensor& sum) const = 0;
  virtual void AddDropout(const at::Tensor& sum, const at::Tensor& grad,
                          const DropoutMask& mask) const = 0;

  // Attention of few queries over keys, see picture_layers.h, in a kernel each way where there is
  // one. The mask's rows are the heads' queries of a sample.
  virtual bool HasCrossAttention(const at::Tensor& q, const CrossShape& shape) const = 0;
  virtual CrossAttended CrossAttention(const at::Tensor& q, const at::Tensor& key_value,
                                       const CrossShape& shape, const DropoutMask& mask) const = 0;
  // {q's gradient, key_value's (undefined where not wanted)}
  virtual std::pair<at::Tensor, at::Tensor> CrossAttentionBackward(
      const at::Tensor& grad, const at::Tensor& q, const at::Tensor& key_value,
      const CrossAttended& attended, const CrossShape& shape, const DropoutMask& mask,
      bool key_value_wanted) const = 0;

  // logits [n, V], targets [n] int64 (−100: ignored) → loss of each row [n] fp32, 0 where ignored.
  // With grad_scale, logits become their own gradient: (softmax − onehot) · grad_scale, 0 in
  // ignored rows.
  virtual at::Tensor CrossEntropy(const at::Tensor& logits, const at::Tensor& targets,
                                  std::optional<double> grad_scale) const = 0;

  // grad [N, H] scattered to the rows ids [N] of weight_grad [V, H], which is defined.
  // Deterministic.
  virtual void EmbeddingBackward(const at::Tensor& grad, const at::Tensor& ids,
                                 const GradView& weight_grad) const = 0;
};

// For any device and dtype.
const Kernels& AtenKernels();

}  // namespace trainctl::ops
