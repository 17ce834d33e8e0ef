// On a GPU: each fused kernel against plain ATen in float64 on random inputs, over the shapes and dtypes that worker/ops/fused.h promises, fast paths and
// slow ones; then the time of each at OpenLLaMA 7B's shapes beside the bytes that it has to move. Exit status 77 where there is no GPU, 1
// where a check failed.
//
//     gpu_kernel_check [--no-timing]
#include <ATen/TensorOperators.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/clamp_min.h>
#include <ATen/ops/cos.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/full.h>
#include <ATen/ops/isnan.h>
#include <ATen/ops/logsumexp.h>
#include <ATen/ops/outer.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/rsqrt.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/sin.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/zeros.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <optional>
#include <vector>

#include "tests/gpu/kernel_compare.h"
#include "tests/gpu/kernel_device.h"
#include "tests/gpu/kernel_timing.h"

namespace trainctl::gpu {
namespace {

namespace fused = ops::fused;

constexpr at::ScalarType kTypes[] = {at::kBFloat16, at::kFloat};

std::string NameOf(at::ScalarType type) { return type == at::kBFloat16 ? "bf16" : "fp32"; }

std::string Text(std::initializer_list<int64_t> numbers) {
  std::string text;
  for (const int64_t number : numbers) {
    text += " " + std::to_string(number);
  }
  return text;
}

// ---- RMSNorm

struct NormCase {
  int64_t rows, hidden;
  bool misaligned = false;
};

const NormCase kNormCases[] = {{1, 8},      {3, 37},       {5, 64},       {300, 100},        {33, 1001},       {2000, 576},       {700, 2048},
                               {500, 3200}, {2048, 4096},  {64, 5120},    {40, 8192},        {30, 9216},       {20, 16384},       {7, 12001},
                               {9, 768, true}, {9, 4096, true}, {5, 12000, true}};

void CheckNormForward(Checks& checks, const NormCase& c, at::ScalarType type) {
  const std::string name = "RmsNormForward " + NameOf(type) + Text({c.rows, c.hidden, c.misaligned});
  at::Tensor x = Random({c.rows, c.hidden}, type), weight = (Random({c.hidden}, at::kFloat) * 0.1 + 1).to(type);
  if (c.misaligned) {
    x = Misaligned(x);
  }
  const at::Tensor out = at::empty_like(x), rstd = at::empty({c.rows}, On(at::kFloat));
  const fused::RmsNorm norm{.element = TypeOf(x), .rows = c.rows, .hidden = c.hidden, .x = x.data_ptr(), .weight = weight.data_ptr(),
                            .out = out.data_ptr(), .rstd = rstd.data_ptr<float>(), .eps = 1e-5f};
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

NormBackwardOutputs RunNormBackward(const at::Tensor& grad, const at::Tensor& x, const at::Tensor& weight, const at::Tensor& rstd,
                                    const at::Tensor& residual, const at::Tensor& weight_grad, float beta) {
  const int64_t rows = x.size(0), hidden = x.size(1);
  const at::Tensor workspace =
      at::full({static_cast<int64_t>(fused::RmsNormWorkspaceFloats(rows, hidden))}, std::nan(""), On(at::kFloat));
  const NormBackwardOutputs out{at::empty_like(x), at::empty_like(x), weight_grad.clone()};
  C10_CUDA_CHECK(fused::RmsNormBackward({.element = TypeOf(x),
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

void CheckNormBackward(Checks& checks, const NormCase& c, at::ScalarType type, at::ScalarType weight_grad_type, float beta,
                       bool with_residual) {
  const std::string name = "RmsNormBackward " + NameOf(type) + " into " + NameOf(weight_grad_type) +
                           Text({c.rows, c.hidden, c.misaligned, static_cast<int64_t>(beta), with_residual});
  at::Tensor x = Random({c.rows, c.hidden}, type), grad = Random({c.rows, c.hidden}, type);
  if (c.misaligned) {
    x = Misaligned(x);
  }
  const at::Tensor weight = (Random({c.hidden}, at::kFloat) * 0.1 + 1).to(type);
  const at::Tensor residual = with_residual ? Random({c.rows, c.hidden}, type) : at::Tensor();
  const at::Tensor before = beta == 0 ? at::full({c.hidden}, std::nan(""), On(weight_grad_type)) : Random({c.hidden}, weight_grad_type);
  const at::Tensor wide = x.to(at::kDouble), wide_grad = grad.to(at::kDouble), wide_weight = weight.to(at::kDouble);
  const at::Tensor rstd = at::rsqrt((wide * wide).mean(-1) + 1e-5).to(at::kFloat);
  const auto out = RunNormBackward(grad, x, weight, rstd, residual, before, beta);

  const at::Tensor scale = rstd.to(at::kDouble).unsqueeze(1), unit = wide * scale, weighted = wide_grad * wide_weight;
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
  const at::Tensor x = Random({50, 256}, at::kFloat), grad = Random({50, 256}, at::kFloat), weight = Random({256}, at::kFloat);
  const at::Tensor rstd = Random({50}, at::kFloat).abs();
  const auto full = RunNormBackward(grad, x, weight, rstd, {}, weight, 0);
  C10_CUDA_CHECK(fused::RmsNormBackward({.element = fused::Type::kF32, .rows = 50, .hidden = 256, .grad = grad.data_ptr(), .x = x.data_ptr(),
                                         .weight = weight.data_ptr(), .rstd = rstd.data_ptr<float>(), .input_grad = grad.data_ptr()},
                                        Stream()));
  checks.Equal("RmsNormBackward of a frozen weight, in place", grad, full.input_grad);
}

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

// ---- Rotary embedding

struct HeadsCase {
  int64_t batch, length, heads, kv_heads, head_dim;
};

const HeadsCase kHeadsCases[] = {{1, 1, 1, 1, 2},      {2, 5, 4, 2, 6},      {3, 17, 9, 3, 64},  {2, 64, 32, 4, 64}, {2, 33, 2, 1, 100},
                                 {1, 40, 32, 32, 100}, {2, 128, 32, 8, 128}, {1, 50, 3, 1, 256}, {1, 9, 2, 2, 20},   {1, 512, 32, 32, 128}};

struct AngleTable {
  at::Tensor cos, sin;  // [length, D / 2] fp32
};

AngleTable MakeAngles(const HeadsCase& c) {
  const at::Tensor exponents = at::arange(0, c.head_dim, 2, On(at::kDouble)) / static_cast<double>(c.head_dim);
  const at::Tensor angles = at::outer(at::arange(c.length, On(at::kDouble)), at::pow(10000.0, exponents).reciprocal());
  return {at::cos(angles).to(at::kFloat), at::sin(angles).to(at::kFloat)};
}

fused::PackedHeads Describe(const HeadsCase& c, const AngleTable& angles, const at::Tensor& packed) {
  return {.element = TypeOf(packed), .batch = c.batch, .length = c.length, .heads = c.heads, .kv_heads = c.kv_heads, .head_dim = c.head_dim,
          .cos = angles.cos.data_ptr<float>(), .sin = angles.sin.data_ptr<float>()};
}

// heads [batch, length, heads, D] in float64, turned by sign · angle.
at::Tensor Rotated(const at::Tensor& heads, const AngleTable& angles, double sign) {
  const int64_t half = heads.size(3) / 2;
  const at::Tensor a = heads.narrow(3, 0, half), b = heads.narrow(3, half, half);
  const at::Tensor c = angles.cos.to(at::kDouble).unsqueeze(1), s = angles.sin.to(at::kDouble).unsqueeze(1) * sign;
  return at::cat({a * c - b * s, b * c + a * s}, 3);
}

void CheckRopeForward(Checks& checks, const HeadsCase& c, at::ScalarType type, bool misaligned) {
  const std::string name = "RopeForward " + NameOf(type) + Text({c.batch, c.length, c.heads, c.kv_heads, c.head_dim, misaligned});
  const int64_t all = c.heads + 2 * c.kv_heads, rotated = c.heads + c.kv_heads;
  const at::Tensor before = Random({c.batch * c.length, all * c.head_dim}, type);
  const at::Tensor qkv = misaligned ? Misaligned(before) : before.clone();
  const AngleTable angles = MakeAngles(c);
  C10_CUDA_CHECK(fused::RopeForward(Describe(c, angles, qkv), qkv.data_ptr(), Stream()));
  const at::Tensor heads = before.to(at::kDouble).view({c.batch, c.length, all, c.head_dim});
  const at::Tensor want = at::cat({Rotated(heads.narrow(2, 0, rotated), angles, 1), heads.narrow(2, rotated, c.kv_heads)}, 2);
  checks.Near(name, qkv.view({c.batch, c.length, all, c.head_dim}), want);
}

// How an attention kernel may hand out its gradients.
enum class Layout { kHeadsFirst, kPositionsFirst, kPadded, kReversedElements, kMisaligned };

at::Tensor RandomHeads(const HeadsCase& c, int64_t heads, at::ScalarType type, Layout layout) {
  switch (layout) {
    case Layout::kHeadsFirst: return Random({c.batch, heads, c.length, c.head_dim}, type);
    case Layout::kPositionsFirst: return Random({c.batch, c.length, heads, c.head_dim}, type).transpose(1, 2);
    case Layout::kPadded: return Random({c.batch, heads, c.length, c.head_dim + 4}, type).narrow(3, 0, c.head_dim);
    case Layout::kReversedElements: return Random({c.head_dim, c.batch, heads, c.length}, type).permute({1, 2, 3, 0});
    case Layout::kMisaligned: return Misaligned(Random({c.batch, heads, c.length, c.head_dim}, type));
  }
  return {};
}

fused::StridedHeads Strided(const at::Tensor& heads) {
  return {heads.data_ptr(), heads.stride(0), heads.stride(1), heads.stride(2), heads.stride(3)};
}

void CheckRopeBackward(Checks& checks, const HeadsCase& c, at::ScalarType type, Layout layout) {
  const std::string name = "RopeBackward " + NameOf(type) +
                           Text({c.batch, c.length, c.heads, c.kv_heads, c.head_dim, static_cast<int64_t>(layout)});
  const at::Tensor q = RandomHeads(c, c.heads, type, layout), k = RandomHeads(c, c.kv_heads, type, layout);
  const at::Tensor v = RandomHeads(c, c.kv_heads, type, Layout::kPositionsFirst);
  const int64_t all = c.heads + 2 * c.kv_heads;
  const at::Tensor packed = at::full({c.batch * c.length, all * c.head_dim}, std::nan(""), On(type));
  const AngleTable angles = MakeAngles(c);
  C10_CUDA_CHECK(fused::RopeBackward(Describe(c, angles, packed), Strided(q), Strided(k), Strided(v), packed.data_ptr(), Stream()));
  const auto rotated_back = [&](const at::Tensor& grad) { return Rotated(grad.to(at::kDouble).transpose(1, 2), angles, -1); };
  const at::Tensor want = at::cat({rotated_back(q), rotated_back(k), v.to(at::kDouble).transpose(1, 2)}, 2);
  checks.Near(name, packed.view({c.batch, c.length, all, c.head_dim}), want);
}

void CheckRope(Checks& checks) {
  for (const HeadsCase& c : kHeadsCases) {
    for (const at::ScalarType type : kTypes) {
      CheckRopeForward(checks, c, type, false);
      CheckRopeForward(checks, c, type, true);
      for (const Layout layout :
           {Layout::kHeadsFirst, Layout::kPositionsFirst, Layout::kPadded, Layout::kReversedElements, Layout::kMisaligned}) {
        CheckRopeBackward(checks, c, type, layout);
      }
    }
  }
}

// ---- SwiGLU

void CheckSwiGlu(Checks& checks, int64_t rows, int64_t ffn, at::ScalarType type, bool misaligned) {
  const std::string name = "SwiGlu " + NameOf(type) + Text({rows, ffn, misaligned});
  at::Tensor gate_up = Random({rows, 2 * ffn}, at::kFloat).mul(4).to(type);
  gate_up.narrow(1, 0, 1).fill_(-100);  // exp(100) is beyond fp32's range
  if (misaligned) {
    gate_up = Misaligned(gate_up);
  }
  const at::Tensor grad = Random({rows, ffn}, type), out = at::empty({rows, ffn}, On(type));
  const at::Tensor gate = gate_up.narrow(1, 0, ffn).to(at::kDouble), up = gate_up.narrow(1, ffn, ffn).to(at::kDouble);
  const at::Tensor sigmoid = at::sigmoid(gate), silu = gate * sigmoid, wide_grad = grad.to(at::kDouble);
  const at::Tensor gate_grad = wide_grad * up * (sigmoid + silu * (1 - sigmoid));
  C10_CUDA_CHECK(fused::SwiGluForward(TypeOf(out), rows, ffn, gate_up.data_ptr(), out.data_ptr(), Stream()));
  checks.Near(name + " forward", out, silu * up);
  C10_CUDA_CHECK(fused::SwiGluBackward(TypeOf(out), rows, ffn, grad.data_ptr(), gate_up.data_ptr(), Stream()));
  checks.Equal(name + " forward again", grad, out);
  checks.Near(name + " gradient", gate_up, at::cat({gate_grad, wide_grad * silu}, 1));
}

void CheckSwiGlus(Checks& checks) {
  for (const at::ScalarType type : kTypes) {
    for (const auto& [rows, ffn] : {std::pair<int64_t, int64_t>{1, 8}, {5, 7}, {33, 100}, {100, 1536}, {64, 11008}, {10, 28672}}) {
      CheckSwiGlu(checks, rows, ffn, type, false);
      CheckSwiGlu(checks, rows, ffn, type, true);
    }
  }
}

// ---- Cross-entropy

void CheckCrossEntropy(Checks& checks, int64_t rows, int64_t vocab, at::ScalarType type, bool misaligned, double spread) {
  const std::string name = "CrossEntropy " + NameOf(type) + Text({rows, vocab, misaligned, static_cast<int64_t>(spread)});
  at::Tensor logits = (Random({rows, vocab}, at::kFloat) * spread).to(type);
  if (misaligned) {
    logits = Misaligned(logits);
  }
  const at::Tensor original = logits.clone();
  const at::Tensor targets = at::randint(0, vocab, {rows}, On(at::kLong));
  if (rows > 2) {
    targets.narrow(0, 1, 1).fill_(-100);
    targets.narrow(0, 2, 1).fill_(vocab - 1);
  }
  const at::Tensor losses = at::empty({rows}, On(at::kFloat)), device_scale = at::full({}, 0.25, On(at::kFloat));
  const fused::CrossEntropy loss{.element = TypeOf(logits), .rows = rows, .vocab = vocab, .logits = logits.data_ptr(),
                                 .targets = targets.data_ptr<int64_t>(), .losses = losses.data_ptr<float>()};
  const at::Tensor wide = original.to(at::kDouble), ignored = targets < 0, index = at::clamp_min(targets, 0).unsqueeze(1);
  const at::Tensor want = (at::logsumexp(wide, 1) - wide.gather(1, index).squeeze(1)).masked_fill(ignored, 0);
  C10_CUDA_CHECK(fused::CrossEntropyForward(loss, Stream()));
  checks.Near(name + " forward", losses, want, 1e-5);
  checks.Equal(name + " forward leaves the logits", logits, original);
  losses.fill_(-1);
  C10_CUDA_CHECK(fused::CrossEntropyForwardBackward(loss, 2.0f, device_scale.data_ptr<float>(), Stream()));
  checks.Near(name + " losses", losses, want, 1e-5);
  at::Tensor gradient = at::softmax(wide, 1);
  gradient.scatter_add_(1, index, at::full({rows, 1}, -1.0, On(at::kDouble)));
  checks.Near(name + " gradient", logits, gradient.masked_fill(ignored.unsqueeze(1), 0) * 0.5, 1e-5);
}

void CheckCrossEntropyOfForeignTarget(Checks& checks) {
  const at::Tensor logits = Random({2, 10}, at::kFloat), losses = at::zeros({2}, On(at::kFloat));
  const at::Tensor targets = at::arange(9, 11, On(at::kLong));  // 10 is beyond
  C10_CUDA_CHECK(fused::CrossEntropyForward({.element = fused::Type::kF32, .rows = 2, .vocab = 10, .logits = logits.data_ptr(),
                                             .targets = targets.data_ptr<int64_t>(), .losses = losses.data_ptr<float>()},
                                            Stream()));
  checks.True("CrossEntropy of a target beyond the vocabulary is NaN",
              !at::isnan(losses)[0].item<bool>() && at::isnan(losses)[1].item<bool>());
}

void CheckCrossEntropies(Checks& checks) {
  for (const at::ScalarType type : kTypes) {
    for (const int64_t vocab : {1, 3, 5, 8, 300, 301, 4099, 32000, 32001, 49152, 50257}) {
      CheckCrossEntropy(checks, 40, vocab, type, false, 3);
      CheckCrossEntropy(checks, 3, vocab, type, true, 1);
      CheckCrossEntropy(checks, 3, vocab, type, false, 50);
    }
  }
  CheckCrossEntropyOfForeignTarget(checks);
}

// ---- Embedding

at::Tensor RunEmbeddingBackward(const at::Tensor& grad, const at::Tensor& ids, const at::Tensor& before, float beta) {
  const at::Tensor out = before.clone();
  const at::Tensor workspace = at::empty({static_cast<int64_t>(fused::EmbeddingWorkspaceBytes(ids.numel()))}, On(at::kByte));
  C10_CUDA_CHECK(fused::EmbeddingBackward({.element = TypeOf(grad), .rows = grad.size(0), .hidden = grad.size(1), .vocab = before.size(0),
                                           .grad = grad.data_ptr(), .ids = ids.data_ptr<int64_t>(), .weight_grad = out.data_ptr(),
                                           .weight_grad_type = TypeOf(before), .beta = beta, .workspace = workspace.data_ptr()},
                                          Stream()));
  return out;
}

// ids from −1 to vocab: the two outside must be skipped; a third of the rows is one token.
void CheckEmbedding(Checks& checks, int64_t rows, int64_t vocab, int64_t hidden, at::ScalarType type, at::ScalarType grad_type, float beta) {
  const std::string name = "EmbeddingBackward " + NameOf(type) + " into " + NameOf(grad_type) +
                           Text({rows, vocab, hidden, static_cast<int64_t>(beta)});
  const at::Tensor grad = Random({rows, hidden}, type), ids = at::randint(-1, vocab + 1, {rows}, On(at::kLong));
  ids.narrow(0, rows / 3, rows / 3).fill_(vocab / 2);
  const at::Tensor before = beta == 0 ? at::full({vocab, hidden}, std::nan(""), On(grad_type)) : Random({vocab, hidden}, grad_type);
  const at::Tensor out = RunEmbeddingBackward(grad, ids, before, beta);
  const at::Tensor want = at::zeros({vocab + 2, hidden}, On(at::kDouble));
  want.index_add_(0, ids + 1, grad.to(at::kDouble));
  const at::Tensor inside = want.narrow(0, 1, vocab);
  checks.Near(name, out, beta == 0 ? inside : inside + before.to(at::kDouble));
  checks.Equal(name + " twice", RunEmbeddingBackward(grad, ids, before, beta), out);
}

void CheckEmbeddings(Checks& checks) {
  struct Case {
    int64_t rows, vocab, hidden;
  };
  for (const Case& c : {Case{1, 3, 8}, {7, 5, 37}, {33, 300, 64}, {500, 1000, 100}, {2048, 300, 576}, {2050, 32001, 1024}}) {
    CheckEmbedding(checks, c.rows, c.vocab, c.hidden, at::kBFloat16, at::kBFloat16, 0);
    CheckEmbedding(checks, c.rows, c.vocab, c.hidden, at::kBFloat16, at::kFloat, 1);
    CheckEmbedding(checks, c.rows, c.vocab, c.hidden, at::kFloat, at::kFloat, 0);
  }
}

// ---- Optimizers

struct FlatCase {
  at::ScalarType parameters, grads;
  bool with_copy;
};

const FlatCase kFlatCases[] = {
    {at::kBFloat16, at::kBFloat16, false}, {at::kFloat, at::kFloat, false}, {at::kFloat, at::kFloat, true}, {at::kFloat, at::kBFloat16, true}};

std::string NameOf(const FlatCase& c) { return NameOf(c.parameters) + " " + NameOf(c.grads) + (c.with_copy ? " with a copy" : ""); }

struct FlatTensors {
  at::Tensor parameters, grads, copy, scale;
};

FlatTensors MakeFlat(const FlatCase& c, int64_t count, bool scaled) {
  return {Random({count}, c.parameters), Random({count}, c.grads), c.with_copy ? at::empty({count}, On(at::kBFloat16)) : at::Tensor(),
          scaled ? at::full({}, 0.37, On(at::kFloat)) : at::Tensor()};
}

fused::FlatParameters Describe(const FlatTensors& flat) {
  return {.count = flat.parameters.numel(),
          .parameter_type = TypeOf(flat.parameters),
          .grad_type = TypeOf(flat.grads),
          .parameters = flat.parameters.data_ptr(),
          .grads = flat.grads.data_ptr(),
          .compute_copy = flat.copy.defined() ? flat.copy.data_ptr() : nullptr,
          .grad_scale = flat.scale.defined() ? flat.scale.data_ptr<float>() : nullptr};
}

at::Tensor ScaledGrad(const FlatTensors& flat) {
  return flat.scale.defined() ? flat.grads.to(at::kDouble) * flat.scale.to(at::kDouble) : flat.grads.to(at::kDouble);
}

void CheckAdamW(Checks& checks, const FlatCase& c, int64_t count, bool scaled) {
  const std::string name = "AdamW " + NameOf(c) + Text({count, scaled});
  const fused::AdamWStep step{.step = 3, .lr = 1e-2, .beta1 = 0.9, .beta2 = 0.95, .eps = 1e-8, .weight_decay = 0.1};
  const FlatTensors flat = MakeFlat(c, count, scaled);
  const at::Tensor first = Random({count}, c.parameters), second = Random({count}, c.parameters).square();
  const at::Tensor grad = ScaledGrad(flat);
  const at::Tensor want_first = first.to(at::kDouble) * step.beta1 + grad * (1 - step.beta1);
  const at::Tensor want_second = second.to(at::kDouble) * step.beta2 + grad * grad * (1 - step.beta2);
  const double first_correction = 1 - std::pow(step.beta1, 3), second_correction = 1 - std::pow(step.beta2, 3);
  const at::Tensor want = flat.parameters.to(at::kDouble) * (1 - step.lr * step.weight_decay) -
                          step.lr / first_correction * want_first / ((want_second / second_correction).sqrt() + step.eps);
  // The same by torch's own kernel, whose rounding must be ours to the bit or its neighbour.
  const at::Tensor torch_parameters = flat.parameters.to(at::kFloat), torch_first = first.to(at::kFloat), torch_second = second.to(at::kFloat);
  at::_fused_adamw_({torch_parameters}, {grad.to(at::kFloat)}, {torch_first}, {torch_second}, {}, {at::full({}, 3.0, On(at::kFloat))},
                    step.lr, step.beta1, step.beta2, step.weight_decay, step.eps, false, false);

  C10_CUDA_CHECK(fused::AdamW(Describe(flat), first.data_ptr(), second.data_ptr(), step, Stream()));
  checks.Near(name + " parameters", flat.parameters, want);
  checks.Near(name + " first moments", first, want_first);
  checks.Near(name + " second moments", second, want_second);
  checks.Near(name + " parameters beside torch's", flat.parameters, torch_parameters.to(at::kDouble));
  if (c.with_copy) {
    checks.Equal(name + " copy", flat.copy, flat.parameters.to(at::kBFloat16));
  }
}

void CheckSgd(Checks& checks, const FlatCase& c, int64_t count, bool with_momentum) {
  const std::string name = "Sgd " + NameOf(c) + Text({count, with_momentum});
  const fused::SgdStep step{.lr = 0.1, .momentum = 0.9, .weight_decay = 0.01};
  const FlatTensors flat = MakeFlat(c, count, with_momentum);
  const at::Tensor momenta = Random({count}, c.parameters);
  at::Tensor want_momenta = ScaledGrad(flat) + flat.parameters.to(at::kDouble) * step.weight_decay;
  if (with_momentum) {
    want_momenta = want_momenta + momenta.to(at::kDouble) * step.momentum;
  }
  const at::Tensor want = flat.parameters.to(at::kDouble) - want_momenta * step.lr;
  C10_CUDA_CHECK(fused::Sgd(Describe(flat), with_momentum ? momenta.data_ptr() : nullptr, step, Stream()));
  checks.Near(name + " parameters", flat.parameters, want);
  if (with_momentum) {
    checks.Near(name + " momenta", momenta, want_momenta);
  }
  if (c.with_copy) {
    checks.Equal(name + " copy", flat.copy, flat.parameters.to(at::kBFloat16));
  }
}

void CheckNormSquared(Checks& checks, at::ScalarType type, int64_t count) {
  const std::string name = "AddNormSquared " + NameOf(type) + Text({count});
  const at::Tensor values = Random({count}, type);
  const at::Tensor sum = at::full({2}, std::nan(""), On(at::kDouble));
  const at::Tensor workspace = at::empty({static_cast<int64_t>(fused::kNormWorkspaceDoubles)}, On(at::kDouble));
  const auto add = [&](double beta, int64_t index) {
    C10_CUDA_CHECK(fused::AddNormSquared(TypeOf(values), count, values.data_ptr(), beta, sum.data_ptr<double>() + index,
                                         workspace.data_ptr<double>(), Stream()));
  };
  add(0, 0);
  add(0, 1);
  checks.Equal(name + " twice", sum.narrow(0, 0, 1), sum.narrow(0, 1, 1));
  add(1, 1);
  const at::Tensor want = values.to(at::kDouble).square().sum().view({1});
  checks.Near(name, sum.narrow(0, 0, 1), want, 1e-7);
  checks.Near(name + " added", sum.narrow(0, 1, 1), want * 2, 1e-7);
}

void CheckFlat(Checks& checks) {
  for (const int64_t count : {1, 7, 8, 2048, 100'003, 6'000'001}) {
    for (const FlatCase& c : kFlatCases) {
      for (const bool flag : {false, true}) {
        CheckAdamW(checks, c, count, flag);
        CheckSgd(checks, c, count, flag);
      }
    }
    for (const at::ScalarType type : kTypes) {
      CheckNormSquared(checks, type, count);
    }
  }
}

// ---- What must be refused, and what is nothing

void CheckRefusals(Checks& checks) {
  const at::Tensor some = at::zeros({64}, On(at::kFloat));
  fused::FlatParameters flat{.count = 16, .parameters = some.data_ptr<float>() + 1, .grads = some.data_ptr()};
  checks.True("a misaligned flat buffer is refused", fused::Sgd(flat, nullptr, {}, Stream()) == cudaErrorInvalidValue);
  flat = {.count = 16, .parameter_type = fused::Type::kBf16, .grad_type = fused::Type::kF32, .parameters = some.data_ptr(),
          .grads = some.data_ptr()};
  checks.True("fp32 gradients of bf16 parameters are refused", fused::Sgd(flat, nullptr, {}, Stream()) == cudaErrorInvalidValue);
  checks.True("an odd head is refused", fused::RopeForward({.batch = 1, .length = 1, .heads = 1, .kv_heads = 1, .head_dim = 5},
                                                           some.data_ptr(), Stream()) == cudaErrorInvalidValue);
  checks.True("no rows are a success", fused::SwiGluForward(fused::Type::kF32, 0, 8, nullptr, nullptr, Stream()) == cudaSuccess);
}

int Run(bool with_timing) {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::printf("no GPU: nothing was checked\n");
    return 77;
  }
  Checks checks;
  for (const auto& [name, check] : {std::pair{"norm", CheckNorms}, {"rope", CheckRope}, {"swiglu", CheckSwiGlus},
                                    {"cross-entropy", CheckCrossEntropies}, {"embedding", CheckEmbeddings}, {"flat", CheckFlat},
                                    {"refusals", CheckRefusals}}) {
    const int failed = checks.failed(), done = checks.done();
    check(checks);
    std::printf("%-14s %d checks, %d failed\n", name, checks.done() - done, checks.failed() - failed);
  }
  if (with_timing) {
    TimeKernels();
  }
  return checks.failed() == 0 ? 0 : 1;
}

}  // namespace
}  // namespace trainctl::gpu

int main(int argc, char** argv) {
  return trainctl::gpu::Run(!(argc > 1 && std::strcmp(argv[1], "--no-timing") == 0));
}
