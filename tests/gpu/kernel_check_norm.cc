#include <ATen/TensorOperators.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/full.h>
#include <ATen/ops/rsqrt.h>

#include <cmath>

#include "tests/gpu/kernel_checks.h"
#include "tests/gpu/kernel_device.h"

namespace trainctl::gpu {
namespace {

namespace fused = ops::fused;

struct NormCase {
  int64_t rows, hidden;
  bool misaligned = false;
};

const NormCase kNormCases[] = {
    {1, 8},      {3, 37},     {5, 64},        {300, 100},      {33, 1001},       {2000, 576},
    {700, 2048}, {500, 3200}, {2048, 4096},   {64, 5120},      {40, 8192},       {30, 9216},
    {20, 16384}, {7, 12001},  {9, 768, true}, {9, 4096, true}, {5, 12000, true},
};

void CheckNormForward(Checks& checks, const NormCase& c, at::ScalarType type) {
  const std::string name =
      "RmsNormForward " + NameOf(type) + Text({c.rows, c.hidden, c.misaligned});
  at::Tensor x = Random({c.rows, c.hidden}, type),
             weight = (Random({c.hidden}, at::kFloat) * 0.1 + 1).to(type);
  if (c.misaligned) {
    x = Misaligned(x);
  }
  const at::Tensor out = at::empty_like(x), rstd = at::empty({c.rows}, On(at::kFloat));
  const fused::RmsNorm norm{.element = TypeOf(x),
                            .rows = c.rows,
                            .hidden = c.hidden,
                            .x = x.data_ptr(),
                            .weight = weight.data_ptr(),
                            .out = out.data_ptr(),
                            .rstd = rstd.data_ptr<float>(),
                            .eps = 1e-5f};
  C10_CUDA_CHECK(fused::RmsNormForward(norm, Stream()));
  const at::Tensor wide = x.to(at::kDouble);
  const at::Tensor scale = at::rsqrt((wide * wide).mean(-1) + 1e-5);
  checks.Near(name + " rstd", rstd, scale);
  checks.Near(name + " out", out, wide * scale.unsqueeze(1) * weight.to(at::kDouble));
  auto in_place = norm;
  in_place.out = x.data_ptr();
  C10_CUDA_CHECK(fused::RmsNormForward(in_place, Stream()));
  checks.Equal(name + " in place", x, out);
}

struct NormBackwardOutputs {
  at::Tensor input_grad, normalized, weight_grad;
};

NormBackwardOutputs RunNormBackward(const at::Tensor& grad, const at::Tensor& x,
                                    const at::Tensor& weight, const at::Tensor& rstd,
                                    const at::Tensor& residual, const at::Tensor& weight_grad,
                                    float beta) {
  const int64_t rows = x.size(0), hidden = x.size(1);
  const at::Tensor workspace =
      at::full({static_cast<int64_t>(fused::RmsNormWorkspaceFloats(rows, hidden))}, std::nan(""),
               On(at::kFloat));
  const NormBackwardOutputs out{at::empty_like(x), at::empty_like(x), weight_grad.clone()};
  C10_CUDA_CHECK(
      fused::RmsNormBackward({.element = TypeOf(x),
                              .rows = rows,
                              .hidden = hidden,
                              .grad = grad.data_ptr(),
                              .x = x.data_ptr(),
                              .weight = weight.data_ptr(),
                              .rstd = rstd.data_ptr<float>(),
                              .residual_grad = residual.defined() ? residual.data_ptr() : nullptr,
                              .input_grad = out.input_grad.data_ptr(),
                              .normalized = out.normalized.data_ptr(),
                              .weight_grad = out.weight_grad.data_ptr(),
                              .weight_grad_type = TypeOf(weight_grad),
                              .weight_grad_beta = beta,
                              .workspace = workspace.data_ptr<float>()},
                             Stream()));
  return out;
}

void CheckNormBackward(Checks& checks, const NormCase& c, at::ScalarType type,
                       at::ScalarType weight_grad_type, float beta, bool with_residual) {
  const std::string name =
      "RmsNormBackward " + NameOf(type) + " into " + NameOf(weight_grad_type) +
      Text({c.rows, c.hidden, c.misaligned, static_cast<int64_t>(beta), with_residual});
  at::Tensor x = Random({c.rows, c.hidden}, type), grad = Random({c.rows, c.hidden}, type);
  if (c.misaligned) {
    x = Misaligned(x);
  }
  const at::Tensor weight = (Random({c.hidden}, at::kFloat) * 0.1 + 1).to(type);
  const at::Tensor residual = with_residual ? Random({c.rows, c.hidden}, type) : at::Tensor();
  const at::Tensor before = beta == 0 ? at::full({c.hidden}, std::nan(""), On(weight_grad_type))
                                      : Random({c.hidden}, weight_grad_type);
  const at::Tensor wide = x.to(at::kDouble), wide_grad = grad.to(at::kDouble),
                   wide_weight = weight.to(at::kDouble);
  const at::Tensor rstd = at::rsqrt((wide * wide).mean(-1) + 1e-5).to(at::kFloat);
  const auto out = RunNormBackward(grad, x, weight, rstd, residual, before, beta);

  const at::Tensor scale = rstd.to(at::kDouble).unsqueeze(1), unit = wide * scale,
                   weighted = wide_grad * wide_weight;
  at::Tensor input_grad = scale * (weighted - unit * (weighted * unit).mean(-1, true));
  if (with_residual) {
    input_grad = input_grad + residual.to(at::kDouble);
  }
  at::Tensor weight_grad = (wide_grad * unit).sum(0);
  if (beta != 0) {
    weight_grad = weight_grad + before.to(at::kDouble) * beta;
  }
  checks.Near(name + " input_grad", out.input_grad, input_grad);
  checks.Near(name + " normalized", out.normalized, unit * wide_weight);
  checks.Near(name + " weight_grad", out.weight_grad, weight_grad, 2e-5);
  const auto again = RunNormBackward(grad, x, weight, rstd, residual, before, beta);
  checks.Equal(name + " twice", again.weight_grad, out.weight_grad);
}

// Only the gradient of the input, written over the gradient of the output.
void CheckNormBackwardOfFrozenWeight(Checks& checks) {
  const at::Tensor x = Random({50, 256}, at::kFloat), grad = Random({50, 256}, at::kFloat),
                   weight = Random({256}, at::kFloat);
  const at::Tensor rstd = Random({50}, at::kFloat).abs();
  const auto full = RunNormBackward(grad, x, weight, rstd, {}, weight, 0);
  C10_CUDA_CHECK(fused::RmsNormBackward({.element = fused::Type::kF32,
                                         .rows = 50,
                                         .hidden = 256,
                                         .grad = grad.data_ptr(),
                                         .x = x.data_ptr(),
                                         .weight = weight.data_ptr(),
                                         .rstd = rstd.data_ptr<float>(),
                                         .input_grad = grad.data_ptr()},
                                        Stream()));
  checks.Equal("RmsNormBackward of a frozen weight, in place", grad, full.input_grad);
}

}  // namespace

void CheckNorms(Checks& checks) {
  for (const NormCase& c : kNormCases) {
    for (const at::ScalarType type : kTypes) {
      CheckNormForward(checks, c, type);
      CheckNormBackward(checks, c, type, type, 0, true);
      CheckNormBackward(checks, c, type, at::kFloat, 1, false);
    }
  }
  CheckNormBackwardOfFrozenWeight(checks);
}

}  // namespace trainctl::gpu
