// Linear layers with or without LoRA adapters (Hu et al. 2021): y = x · Wᵀ + bias + scale ·
// dropout(x) · Aᵀ · Bᵀ. Each adapted module drops its own elements of x, as in PEFT. Legend: N
// rows, r the adapters' rank.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "worker/rank/ops/context.h"
#include "worker/rank/ops/parameters.h"

namespace trainctl::ops {

// One adapted module: r rows of its group's A, and B [out, r]. B adds to columns [column, column +
// out) of the layer's output.
struct LoraBranch {
  ParamId b = 0;
  int64_t column = 0;
  uint32_t module = 0;  // its number in the model, by which its dropout is counted
};

// Adapters whose A are one matrix [branches · r, in].
struct LoraGroup {
  ParamId a = 0;
  std::vector<LoraBranch> branches;
};

struct LinearParams {
  std::vector<ParamId> weights;      // each [out, in]; their outputs lie side by side
  std::vector<ParamId> biases = {};  // none, or [out] of each module, in their order
  bool frozen = false;               // weights and biases are: their gradients are not wanted
  std::vector<LoraGroup> adapters = {};
  double scale = 0;    // alpha / r
  double dropout = 0;  // of the adapters' input

  // The backward needs x itself, not only the gradient that flows through.
  bool NeedsInput() const { return !frozen || !adapters.empty(); }
};

// One application of a layer, forward and then backward. Between them it keeps scale · dropout(x) ·
// Aᵀ [N, branches · r] of each group. first_row: of x in the micro batch.
class LinearUse {
 public:
  LinearUse(const Context& context, LinearParams params, int64_t first_row = 0);

  // x [N, in] → [N, Σ out]; added to `residual` where that is given (of one weight).
  at::Tensor Forward(const at::Tensor& x, const at::Tensor& residual = {});
  // relu of the same.
  at::Tensor ForwardRelu(const at::Tensor& x);
  // What Forward keeps, without its value.
  void Keep(const at::Tensor& x);

  // grad [N, Σ out]: makes the Bs' gradients and, where it is defined, input_grad [N, in] (dense,
  // overwritten).
  void BackwardInput(const at::Tensor& grad, const at::Tensor& input_grad);
  // After BackwardInput: makes the gradients of the weights, the biases and the As. Needs x where
  // NeedsInput() says so.
  void BackwardWeights(const at::Tensor& grad, const at::Tensor& x);

 private:
  bool Drops() const;
  at::Tensor Bias() const;  // [Σ out]; undefined: none
  void BiasGrads(const at::Tensor& grad) const;
  DropoutMask Mask(const LoraBranch& branch) const;
  at::Tensor Dropped(const at::Tensor& x, const LoraBranch& branch) const;
  at::Tensor Down(const LoraGroup& group, const at::Tensor& x) const;
  void AddInputGrad(const LoraGroup& group, const at::Tensor& down_grad,
                    const at::Tensor& input_grad) const;
  void WeightGradOfA(const LoraGroup& group, const at::Tensor& down_grad,
                     const at::Tensor& x) const;

  Context context_;
  LinearParams params_;
  int64_t first_row_;
  std::vector<at::Tensor> downs_;       // by group
  std::vector<at::Tensor> down_grads_;  // by group; of dropout(x) · Aᵀ
};

}  // namespace trainctl::ops
