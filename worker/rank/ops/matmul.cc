#include "worker/rank/ops/matmul.h"

#include <ATen/ops/_addmm_activation.h>
#include <ATen/ops/add.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/relu.h>

namespace trainctl::ops {
namespace {

// bf16 on a CPU: compute in fp32.
bool Upcast(const at::Tensor& tensor) {
  return tensor.is_cpu() && tensor.scalar_type() != at::kFloat &&
         tensor.scalar_type() != at::kDouble;
}

at::Tensor Operand(const at::Tensor& tensor) {
  return Upcast(tensor) ? tensor.to(at::kFloat) : tensor;
}

at::Tensor Product(const at::Tensor& a, const at::Tensor& b) {
  if (!Upcast(a)) return at::mm(a, b);
  return at::mm(Operand(a), Operand(b)).to(a.scalar_type());
}

}  // namespace

void LinearInto(const at::Tensor& out, const at::Tensor& x, const at::Tensor& weight) {
  if (Upcast(x) || out.is_cpu()) {
    out.copy_(Linear(x, weight));
    return;
  }
  at::Tensor target = out;
  at::mm_out(target, x, weight.t());
}

at::Tensor Linear(const at::Tensor& x, const at::Tensor& weight) { return Product(x, weight.t()); }

at::Tensor LinearResidual(const at::Tensor& x, const at::Tensor& weight,
                          const at::Tensor& residual) {
  if (Upcast(x))
    return at::addmm(Operand(residual), Operand(x), Operand(weight).t()).to(x.scalar_type());
  return at::addmm(residual, x, weight.t());
}

at::Tensor LinearRelu(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  if (x.is_cpu()) return at::relu(LinearResidual(x, weight, bias));
  return at::_addmm_activation(bias, x, weight.t());
}

at::Tensor LinearInputGrad(const at::Tensor& grad, const at::Tensor& weight) {
  return Product(grad, weight);
}

void LinearInputGradInto(const at::Tensor& out, const at::Tensor& grad, const at::Tensor& weight) {
  at::Tensor target = out;
  if (Upcast(grad)) {
    target.copy_(LinearInputGrad(grad, weight));
  } else {
    at::mm_out(target, grad, weight);
  }
}

void ScaledProductInto(const at::Tensor& out, const at::Tensor& a, const at::Tensor& b,
                       double scale) {
  if (out.is_cpu()) {
    out.copy_(at::mm(Operand(a), Operand(b)).mul_(scale));
    return;
  }
  at::Tensor target = out;
  at::addmm_out(target, target, a, b, /*beta=*/0, scale);
}

void AddProduct(const at::Tensor& out, const at::Tensor& a, const at::Tensor& b) {
  if (out.is_cpu()) {
    out.copy_(at::mm(Operand(a), Operand(b)).add_(out));
    return;
  }
  at::Tensor target = out;
  at::addmm_out(target, target, a, b);
}

void LinearWeightGrad(const at::Tensor& grad, const at::Tensor& x, const GradView& target) {
  at::Tensor view = target.view;
  if (!view.defined()) return;
  if (Upcast(grad)) {
    AccumulateInto(target, at::mm(Operand(grad).t(), Operand(x)));
  } else if (view.scalar_type() == grad.scalar_type()) {
    if (target.beta == 0) {
      at::mm_out(view, grad.t(), x);
    } else {
      at::addmm_out(view, view, grad.t(), x, target.beta);
    }
  } else if (target.beta == 0) {
    at::mm_out(view, grad.t(), x, view.scalar_type());
  } else {
    at::addmm_out(view, view, grad.t(), x, view.scalar_type(), target.beta);
  }
}

void AccumulateInto(const GradView& target, const at::Tensor& value) {
  if (target.beta == 0) {
    target.view.copy_(value);
  } else {
    if (target.beta != 1) target.view.mul_(target.beta);
    target.view.add_(value.to(target.view.scalar_type()));
  }
}

}  // namespace trainctl::ops
