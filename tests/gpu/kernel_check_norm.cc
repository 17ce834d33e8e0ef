#include <ATen/TensorOperators.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/full.h>
#include <ATen/ops/rsqrt.h>
#include <ATen/ops/zeros.h>

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

// Of RMSNorm, and of LayerNorm.
struct NormKind {
  const char* name;
  bool centers;
};
constexpr NormKind kNormKinds[] = {{"RmsNorm", false}, {"LayerNorm", true}};

at::Tensor Bias(const NormKind& kind, int64_t hidden, at::ScalarType type) {
  return kind.centers ? Random({hidden}, type) : at::Tensor();
}

at::Tensor Mean(const NormKind& kind, const at::Tensor& wide) {
  return kind.centers ? wide.mean(-1) : at::zeros({wide.size(0)}, On(at::kDouble));
}

void* DataOf(const at::Tensor& tensor) { return tensor.defined() ? tensor.data_ptr() : nullptr; }

const NormCase kNormCases[] = {
    {1, 8},       {3, 37},     {5, 64},      {300, 100},     {33, 1001},      {2000, 576},
    {700, 2048},  {500, 3200}, {2048, 4096}, {64, 5120},     {40, 8192},      {30, 9216},
    {4112, 1408}, {20, 16384}, {7, 12001},   {9, 768, true}, {9, 4096, true}, {5, 12000, true},
    {1312, 2560}, {512, 768},  {130, 1000},  {50, 1536},     {50, 2568},
};

void CheckNormForward(Checks& checks, const NormKind& kind, const NormCase& c,
                      at::ScalarType type) {
  const std::string name =
      std::string(kind.name) + "Forward " + NameOf(type) + Text({c.rows, c.hidden, c.misaligned});
  at::Tensor x = Random({c.rows, c.hidden}, type),
             weight = (Random({c.hidden}, at::kFloat) * 0.1 + 1).to(type);
  if (c.misaligned) {
    x = Misaligned(x);
  }
  if (kind.centers) x.add_(2);
  const at::Tensor bias = Bias(kind, c.hidden, type);
  const at::Tensor out = at::empty_like(x), rstd = at::empty({c.rows}, On(at::kFloat)),
                   mean = at::empty({c.rows}, On(at::kFloat));
  const fused::Norm norm{.element = TypeOf(x),
                         .rows = c.rows,
                         .hidden = c.hidden,
                         .x = x.data_ptr(),
                         .weight = weight.data_ptr(),
                         .bias = DataOf(bias),
                         .out = out.data_ptr(),
                         .rstd = rstd.data_ptr<float>(),
                         .mean = kind.centers ? mean.data_ptr<float>() : nullptr,
                         .eps = 1e-5f};
  C10_CUDA_CHECK(fused::NormForward(norm, Stream()));
  const at::Tensor wide = x.to(at::kDouble), center = Mean(kind, wide);
  const at::Tensor centered = wide - center.unsqueeze(1);
  const at::Tensor scale = at::rsqrt((centered * centered).mean(-1) + 1e-5);
  at::Tensor expected = centered * scale.unsqueeze(1) * weight.to(at::kDouble);
  if (kind.centers) expected = expected + bias.to(at::kDouble);
  checks.Near(name + " rstd", rstd, scale);
  if (kind.centers) checks.Near(name + " mean", mean, center);
  checks.Near(name + " out", out, expected);
  auto in_place = norm;
  in_place.out = x.data_ptr();
  C10_CUDA_CHECK(fused::NormForward(in_place, Stream()));
  checks.Equal(name + " in place", x, out);
}

struct NormInputs {
  at::Tensor grad, x, weight, bias, rstd, mean, residual;  // the bias undefined: RMSNorm
};

struct NormOutputs {
  at::Tensor input_grad, normalized, weight_grad, bias_grad;
};

// The gradients of weight and bias begin as `before`.
NormOutputs RunNormBackward(const NormInputs& in, const at::Tensor& before, float beta) {
  const int64_t rows = in.x.size(0), hidden = in.x.size(1);
  const bool centers = in.bias.defined();
  const NormOutputs out{at::empty_like(in.x), at::empty_like(in.x), before.clone(), before.clone()};
  C10_CUDA_CHECK(fused::NormBackward({.element = TypeOf(in.x),
                                      .rows = rows,
                                      .hidden = hidden,
                                      .grad = in.grad.data_ptr(),
                                      .x = in.x.data_ptr(),
                                      .weight = in.weight.data_ptr(),
                                      .bias = DataOf(in.bias),
                                      .rstd = in.rstd.data_ptr<float>(),
                                      .mean = centers ? in.mean.data_ptr<float>() : nullptr,
                                      .residual_grad = DataOf(in.residual),
                                      .input_grad = out.input_grad.data_ptr(),
                                      .normalized = out.normalized.data_ptr(),
                                      .weight_grad = out.weight_grad.data_ptr(),
                                      .bias_grad = centers ? out.bias_grad.data_ptr() : nullptr,
                                      .grad_type = TypeOf(before),
                                      .weight_grad_beta = beta,
                                      .bias_grad_beta = beta},
                                     Stream()));
  return out;
}

NormInputs RandomInputs(const NormKind& kind, const NormCase& c, at::ScalarType type,
                        bool with_residual) {
  NormInputs in{.grad = Random({c.rows, c.hidden}, type),
                .x = Random({c.rows, c.hidden}, type),
                .weight = (Random({c.hidden}, at::kFloat) * 0.1 + 1).to(type),
                .bias = Bias(kind, c.hidden, type)};
  if (c.misaligned) {
    in.x = Misaligned(in.x);
  }
  if (with_residual) {
    in.residual = Random({c.rows, c.hidden}, type);
  }
  const at::Tensor wide = in.x.to(at::kDouble), center = Mean(kind, wide),
                   centered = wide - center.unsqueeze(1);
  in.mean = center.to(at::kFloat);
  in.rstd = at::rsqrt((centered * centered).mean(-1) + 1e-5).to(at::kFloat);
  return in;
}

// In fp64, from the statistics that the kernel is given.
NormOutputs ExpectedBackward(const NormInputs& in, const at::Tensor& before, float beta) {
  const at::Tensor scale = in.rstd.to(at::kDouble).unsqueeze(1),
                   wide_grad = in.grad.to(at::kDouble), wide_weight = in.weight.to(at::kDouble);
  const at::Tensor unit = (in.x.to(at::kDouble) - in.mean.to(at::kDouble).unsqueeze(1)) * scale,
                   weighted = wide_grad * wide_weight;
  NormOutputs out{.input_grad = scale * (weighted - unit * (weighted * unit).mean(-1, true)),
                  .normalized = unit * wide_weight,
                  .weight_grad = (wide_grad * unit).sum(0),
                  .bias_grad = wide_grad.sum(0)};
  if (in.bias.defined()) {
    out.input_grad = out.input_grad - scale * weighted.mean(-1, true);
    out.normalized = out.normalized + in.bias.to(at::kDouble);
  }
  if (in.residual.defined()) {
    out.input_grad = out.input_grad + in.residual.to(at::kDouble);
  }
  if (beta != 0) {
    out.weight_grad = out.weight_grad + before.to(at::kDouble) * beta;
    out.bias_grad = out.bias_grad + before.to(at::kDouble) * beta;
  }
  return out;
}

void CheckNormBackward(Checks& checks, const NormKind& kind, const NormCase& c, at::ScalarType type,
                       at::ScalarType grad_type, float beta, bool with_residual) {
  const std::string name =
      std::string(kind.name) + "Backward " + NameOf(type) + " into " + NameOf(grad_type) +
      Text({c.rows, c.hidden, c.misaligned, static_cast<int64_t>(beta), with_residual});
  const NormInputs in = RandomInputs(kind, c, type, with_residual);
  const at::Tensor before =
      beta == 0 ? at::full({c.hidden}, std::nan(""), On(grad_type)) : Random({c.hidden}, grad_type);
  const NormOutputs out = RunNormBackward(in, before, beta),
                    again = RunNormBackward(in, before, beta),
                    expected = ExpectedBackward(in, before, beta);
  checks.Near(name + " input_grad", out.input_grad, expected.input_grad);
  checks.Near(name + " normalized", out.normalized, expected.normalized);
  checks.Near(name + " weight_grad", out.weight_grad, expected.weight_grad, 2e-5);
  checks.Equal(name + " twice", again.weight_grad, out.weight_grad);
  if (!kind.centers) return;
  checks.Near(name + " bias_grad", out.bias_grad, expected.bias_grad, 2e-5);
  checks.Equal(name + " bias twice", again.bias_grad, out.bias_grad);
}

// Only the gradient of the input, written over the gradient of the output.
void CheckNormBackwardOfFrozenWeight(Checks& checks, const NormKind& kind) {
  const NormInputs in = RandomInputs(kind, {50, 256}, at::kFloat, false);
  const NormOutputs full = RunNormBackward(in, in.weight, 0);
  C10_CUDA_CHECK(fused::NormBackward({.element = fused::Type::kF32,
                                      .rows = 50,
                                      .hidden = 256,
                                      .grad = in.grad.data_ptr(),
                                      .x = in.x.data_ptr(),
                                      .weight = in.weight.data_ptr(),
                                      .bias = DataOf(in.bias),
                                      .rstd = in.rstd.data_ptr<float>(),
                                      .mean = kind.centers ? in.mean.data_ptr<float>() : nullptr,
                                      .input_grad = in.grad.data_ptr()},
                                     Stream()));
  checks.Equal(std::string(kind.name) + "Backward of a frozen weight, in place", in.grad,
               full.input_grad);
}

}  // namespace

void CheckNorms(Checks& checks) {
  for (const NormKind& kind : kNormKinds) {
    for (const NormCase& c : kNormCases) {
      for (const at::ScalarType type : kTypes) {
        CheckNormForward(checks, kind, c, type);
        CheckNormBackward(checks, kind, c, type, type, 0, true);
        CheckNormBackward(checks, kind, c, type, at::kFloat, 1, false);
      }
    }
    CheckNormBackwardOfFrozenWeight(checks, kind);
  }
}

}  // namespace trainctl::gpu
