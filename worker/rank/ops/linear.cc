#include "worker/rank/ops/linear.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/relu.h>

#include <utility>

#include "worker/rank/ops/matmul.h"

namespace trainctl::ops {
namespace {

// The column slices of a side-by-side matrix.
at::Tensor Columns(const at::Tensor& packed, int64_t first, int64_t count) {
  return packed.size(1) == count ? packed : packed.narrow(1, first, count);
}

int64_t RankOf(const LoraGroup& group, const at::Tensor& a) {
  return a.size(0) / static_cast<int64_t>(group.branches.size());
}

// body(branch, first row of A that is its own) for each branch.
template <class Body>
void ForBranches(const LoraGroup& group, int64_t rank, const Body& body) {
  for (size_t i = 0; i < group.branches.size(); ++i)
    body(group.branches[i], static_cast<int64_t>(i) * rank);
}

}  // namespace

LinearUse::LinearUse(const Context& context, LinearParams params, int64_t first_row)
    : context_(context), params_(std::move(params)), first_row_(first_row) {}

bool LinearUse::Drops() const { return params_.dropout > 0 && context_.dropout.samples.defined(); }

DropoutMask LinearUse::Mask(const LoraBranch& branch) const {
  return {.rows = context_.dropout,
          .first_row = first_row_,
          .module = branch.module,
          .probability = params_.dropout};
}

at::Tensor LinearUse::Dropped(const at::Tensor& x, const LoraBranch& branch) const {
  return context_.kernels.Dropout(x, Mask(branch));
}

// scale · dropout(x) · Aᵀ
at::Tensor LinearUse::Down(const LoraGroup& group, const at::Tensor& x) const {
  const at::Tensor a = context_.params.Weight(group.a);
  const at::Tensor down = at::empty({x.size(0), a.size(0)}, x.options());
  if (!Drops()) {
    ScaledProductInto(down, x, a.t(), params_.scale);
    return down;
  }
  const int64_t rank = RankOf(group, a);
  ForBranches(group, rank, [&](const LoraBranch& branch, int64_t first) {
    ScaledProductInto(Columns(down, first, rank), Dropped(x, branch), a.narrow(0, first, rank).t(),
                      params_.scale);
  });
  return down;
}

at::Tensor LinearUse::Bias() const {
  if (params_.biases.empty()) return {};
  std::vector<at::Tensor> parts;
  for (const ParamId id : params_.biases) parts.push_back(context_.params.Weight(id));
  return parts.size() == 1 ? parts[0] : at::cat(parts);
}

at::Tensor LinearUse::Forward(const at::Tensor& x, const at::Tensor& residual) {
  at::Tensor out;
  at::Tensor bias = Bias();
  if (params_.weights.size() == 1) {
    const at::Tensor weight = context_.params.Weight(params_.weights[0]);
    if (residual.defined() && bias.defined()) {
      out = context_.kernels.AddRow(residual, std::exchange(bias, {}));
      AddProduct(out, x, weight.t());
    } else {
      const at::Tensor added = residual.defined() ? residual : std::exchange(bias, {});
      out = added.defined() ? LinearResidual(x, weight, added) : Linear(x, weight);
    }
  } else {
    int64_t width = 0, column = 0;
    for (const ParamId id : params_.weights) width += context_.params.Weight(id).size(0);
    out = at::empty({x.size(0), width}, x.options());
    for (const ParamId id : params_.weights) {
      const at::Tensor weight = context_.params.Weight(id);
      LinearInto(Columns(out, column, weight.size(0)), x, weight);
      column += weight.size(0);
    }
  }
  if (bias.defined()) out.add_(bias);
  Keep(x);
  for (size_t g = 0; g < params_.adapters.size(); ++g) {
    const LoraGroup& group = params_.adapters[g];
    const at::Tensor& down = downs_[g];
    const int64_t rank = down.size(1) / static_cast<int64_t>(group.branches.size());
    ForBranches(group, rank, [&](const LoraBranch& branch, int64_t first) {
      const at::Tensor b = context_.params.Weight(branch.b);
      AddProduct(Columns(out, branch.column, b.size(0)), Columns(down, first, rank), b.t());
    });
  }
  return out;
}

at::Tensor LinearUse::ForwardRelu(const at::Tensor& x) {
  if (params_.weights.size() == 1 && !params_.biases.empty() && params_.adapters.empty())
    return LinearRelu(x, context_.params.Weight(params_.weights[0]), Bias());
  at::Tensor out = Forward(x);
  return at::relu_(out);
}

void LinearUse::Keep(const at::Tensor& x) {
  downs_.clear();
  for (const LoraGroup& group : params_.adapters) downs_.push_back(Down(group, x));
}

void LinearUse::AddInputGrad(const LoraGroup& group, const at::Tensor& down_grad,
                             const at::Tensor& input_grad) const {
  const at::Tensor a = context_.params.Weight(group.a);
  if (!Drops()) return AddProduct(input_grad, down_grad, a);
  const int64_t rank = RankOf(group, a);
  ForBranches(group, rank, [&](const LoraBranch& branch, int64_t first) {
    const at::Tensor dropped_grad =
        LinearInputGrad(Columns(down_grad, first, rank), a.narrow(0, first, rank));
    context_.kernels.AddDropout(input_grad, dropped_grad, Mask(branch));
  });
}

void LinearUse::BackwardInput(const at::Tensor& grad, const at::Tensor& input_grad) {
  int64_t column = 0;
  for (size_t i = 0; input_grad.defined() && i < params_.weights.size(); ++i) {
    const at::Tensor weight = context_.params.Weight(params_.weights[i]);
    const at::Tensor slice = Columns(grad, column, weight.size(0));
    if (i == 0) {
      LinearInputGradInto(input_grad, slice, weight);
    } else {
      AddProduct(input_grad, slice, weight);
    }
    column += weight.size(0);
  }
  down_grads_.clear();
  for (size_t g = 0; g < params_.adapters.size(); ++g) {
    const LoraGroup& group = params_.adapters[g];
    const at::Tensor down_grad = at::empty(downs_[g].sizes(), downs_[g].options());
    const int64_t rank = down_grad.size(1) / static_cast<int64_t>(group.branches.size());
    ForBranches(group, rank, [&](const LoraBranch& branch, int64_t first) {
      const at::Tensor b = context_.params.Weight(branch.b);
      const at::Tensor slice = Columns(grad, branch.column, b.size(0));
      ScaledProductInto(Columns(down_grad, first, rank), slice, b, params_.scale);
      LinearWeightGrad(slice, Columns(downs_[g], first, rank), context_.params.Grad(branch.b));
    });
    if (input_grad.defined()) AddInputGrad(group, down_grad, input_grad);
    down_grads_.push_back(down_grad);
  }
  downs_.clear();
}

void LinearUse::WeightGradOfA(const LoraGroup& group, const at::Tensor& down_grad,
                              const at::Tensor& x) const {
  const GradView target = context_.params.Grad(group.a);
  if (!Drops()) return LinearWeightGrad(down_grad, x, target);
  const int64_t rank = RankOf(group, target.view);
  ForBranches(group, rank, [&](const LoraBranch& branch, int64_t first) {
    LinearWeightGrad(Columns(down_grad, first, rank), Dropped(x, branch),
                     {target.view.narrow(0, first, rank), target.beta});
  });
}

void LinearUse::BiasGrads(const at::Tensor& grad) const {
  std::vector<GradView> targets;
  for (const ParamId id : params_.biases) targets.push_back(context_.params.Grad(id));
  if (!targets.empty()) context_.kernels.AddColumnSums(grad, targets);
}

void LinearUse::BackwardWeights(const at::Tensor& grad, const at::Tensor& x) {
  int64_t column = 0;
  for (size_t i = 0; !params_.frozen && i < params_.weights.size(); ++i) {
    const GradView target = context_.params.Grad(params_.weights[i]);
    LinearWeightGrad(Columns(grad, column, target.view.size(0)), x, target);
    column += target.view.size(0);
  }
  if (!params_.frozen) BiasGrads(grad);
  for (size_t g = 0; g < params_.adapters.size(); ++g)
    WeightGradOfA(params_.adapters[g], down_grads_[g], x);
  down_grads_.clear();
}

}  // namespace trainctl::ops
