// What layers that add to a residual share.
#pragma once

#include "worker/rank/ops/layers.h"

namespace trainctl::ops {

// residual + dropout(a layer's output), and the way back.
class DroppedSum {
 public:
  DroppedSum(const Context& context, const OutputDropout& dropout)
      : context_(context), dropout_(dropout) {}

  at::Tensor Forward(LinearUse& use, const at::Tensor& x, const at::Tensor& residual) const {
    if (!Drops()) return use.Forward(x, residual);
    return context_.kernels.DropoutPlus(use.Forward(x), Mask(), residual);
  }

  // Of the layer's output; may be grad itself.
  at::Tensor OutputGrad(const at::Tensor& grad) const {
    return Drops() ? context_.kernels.Dropout(grad, Mask()) : grad;
  }

 private:
  bool Drops() const { return dropout_.probability > 0 && context_.dropout.samples.defined(); }
  DropoutMask Mask() const {
    return {.rows = context_.dropout,
            .first_row = 0,
            .module = dropout_.module,
            .probability = dropout_.probability};
  }

  Context context_;
  OutputDropout dropout_;
};

}  // namespace trainctl::ops
