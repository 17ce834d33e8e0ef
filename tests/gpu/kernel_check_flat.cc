#include <ATen/TensorOperators.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/bucketize.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

#include <cmath>

#include "tests/gpu/kernel_checks.h"
#include "tests/gpu/kernel_device.h"
#include "worker/rank/ops/dynamic_map.h"

namespace trainctl::gpu {
namespace {

namespace fused = ops::fused;

struct FlatCase {
  at::ScalarType parameters, grads;
  bool with_copy;
};

const FlatCase kFlatCases[] = {{at::kBFloat16, at::kBFloat16, false},
                               {at::kFloat, at::kFloat, false},
                               {at::kFloat, at::kFloat, true},
                               {at::kFloat, at::kBFloat16, true}};

std::string TextOf(const FlatCase& c) {
  return NameOf(c.parameters) + " " + NameOf(c.grads) + (c.with_copy ? " with a copy" : "");
}

struct FlatTensors {
  at::Tensor parameters, grads, copy, scale;
};

FlatTensors MakeFlat(const FlatCase& c, int64_t count, bool scaled) {
  return {Random({count}, c.parameters), Random({count}, c.grads),
          c.with_copy ? at::empty({count}, On(at::kBFloat16)) : at::Tensor(),
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
  return flat.scale.defined() ? flat.grads.to(at::kDouble) * flat.scale.to(at::kDouble)
                              : flat.grads.to(at::kDouble);
}

void CheckAdamW(Checks& checks, const FlatCase& c, int64_t count, bool scaled) {
  const std::string name = "AdamW " + TextOf(c) + Text({count, scaled});
  const fused::AdamWStep step{
      .step = 3, .lr = 1e-2, .beta1 = 0.9, .beta2 = 0.95, .eps = 1e-8, .weight_decay = 0.1};
  const FlatTensors flat = MakeFlat(c, count, scaled);
  const at::Tensor first = Random({count}, c.parameters),
                   second = Random({count}, c.parameters).square();
  const at::Tensor grad = ScaledGrad(flat);
  const at::Tensor want_first = first.to(at::kDouble) * step.beta1 + grad * (1 - step.beta1);
  const at::Tensor want_second =
      second.to(at::kDouble) * step.beta2 + grad * grad * (1 - step.beta2);
  const double first_correction = 1 - std::pow(step.beta1, 3),
               second_correction = 1 - std::pow(step.beta2, 3);
  const at::Tensor want = flat.parameters.to(at::kDouble) * (1 - step.lr * step.weight_decay) -
                          step.lr / first_correction * want_first /
                              ((want_second / second_correction).sqrt() + step.eps);
  // The same by torch's own kernel, whose rounding must be ours to the bit or its neighbour.
  const auto copied = [](const at::Tensor& t) {
    return t.to(at::kFloat, /*non_blocking=*/false, /*copy=*/true);
  };
  const at::Tensor torch_parameters = copied(flat.parameters), torch_first = copied(first),
                   torch_second = copied(second);
  at::_fused_adamw_({torch_parameters}, {grad.to(at::kFloat)}, {torch_first}, {torch_second}, {},
                    {at::full({}, 3.0, On(at::kFloat))}, step.lr, step.beta1, step.beta2,
                    step.weight_decay, step.eps, false, false);

  C10_CUDA_CHECK(fused::AdamW(Describe(flat), first.data_ptr(), second.data_ptr(), step, Stream()));
  checks.Near(name + " parameters", flat.parameters, want);
  checks.Near(name + " first moments", first, want_first);
  checks.Near(name + " second moments", second, want_second);
  checks.Near(name + " parameters beside torch's", flat.parameters,
              torch_parameters.to(at::kDouble));
  if (c.with_copy) {
    checks.Equal(name + " copy", flat.copy, flat.parameters.to(at::kBFloat16));
  }
}

void CheckSgd(Checks& checks, const FlatCase& c, int64_t count, bool with_momentum) {
  const std::string name = "Sgd " + TextOf(c) + Text({count, with_momentum});
  const fused::SgdStep step{.lr = 0.1, .momentum = 0.9, .weight_decay = 0.01};
  const FlatTensors flat = MakeFlat(c, count, with_momentum);
  const at::Tensor momenta = Random({count}, c.parameters);
  at::Tensor want_momenta = ScaledGrad(flat) + flat.parameters.to(at::kDouble) * step.weight_decay;
  if (with_momentum) {
    want_momenta = want_momenta + momenta.to(at::kDouble) * step.momentum;
  }
  const at::Tensor want = flat.parameters.to(at::kDouble) - want_momenta * step.lr;
  C10_CUDA_CHECK(
      fused::Sgd(Describe(flat), with_momentum ? momenta.data_ptr() : nullptr, step, Stream()));
  checks.Near(name + " parameters", flat.parameters, want);
  if (with_momentum) {
    checks.Near(name + " momenta", momenta, want_momenta);
  }
  if (c.with_copy) {
    checks.Equal(name + " copy", flat.copy, flat.parameters.to(at::kBFloat16));
  }
}

// A tensor's moments in 8 bits, on the device.
struct Codes {
  explicit Codes(int64_t count)
      : first(at::zeros({count}, On(at::kByte))),
        second(at::zeros({count}, On(at::kByte))),
        first_absmax(at::zeros({count / 256}, On(at::kFloat))),
        second_absmax(at::zeros({count / 256}, On(at::kFloat))) {}
  fused::EightBitMoments Describe(const at::Tensor& tables) const {
    return {first.data_ptr<uint8_t>(), second.data_ptr<uint8_t>(), first_absmax.data_ptr<float>(),
            second_absmax.data_ptr<float>(),
            static_cast<const fused::DynamicTables*>(tables.const_data_ptr())};
  }
  at::Tensor first, second, first_absmax, second_absmax;
};

at::Tensor Decoded(const at::Tensor& map, const at::Tensor& codes, const at::Tensor& absmax) {
  return (map.to(at::kCUDA).index_select(0, codes.to(at::kInt)).view({-1, 256}) *
          absmax.unsqueeze(1))
      .view({-1});
}

// Whether the codes are those of the moments, give or take what fp32 rounds on the way: coarse
// gradients put many moments right between two codes.
bool AreCodesOf(const at::Tensor& codes, const at::Tensor& map, const at::Tensor& moments,
                const at::Tensor& absmax) {
  constexpr double kRounding = 1e-6;
  const at::Tensor scaled =
      moments.view({-1, 256}) / absmax.to(at::kDouble).clamp_min(1e-38).unsqueeze(1);
  const at::Tensor slack = scaled.abs() * kRounding;
  const at::Tensor bounds = ops::DynamicBounds(map).to(at::kCUDA, at::kDouble),
                   actual = codes.view({-1, 256}).to(at::kLong);
  const at::Tensor least = at::bucketize(scaled - slack, bounds),
                   greatest = at::bucketize(scaled + slack, bounds);
  return at::logical_and(actual >= least, actual <= greatest).all().item<bool>();
}

// Three steps, each from the kernel's own codes before it, against float64.
void CheckAdamW8bit(Checks& checks, const FlatCase& c, int64_t count, bool scaled) {
  const std::string name = "AdamW8bit " + TextOf(c) + Text({count, scaled});
  const at::Tensor tables = ops::DynamicTables(at::kCUDA), signed_map = ops::DynamicMap(true),
                   unsigned_map = ops::DynamicMap(false);
  const FlatTensors flat = MakeFlat(c, count, scaled);
  const Codes codes(count);
  for (int64_t number = 1; number <= 3; ++number) {
    const fused::AdamWStep step{
        .step = number, .lr = 1e-2, .beta1 = 0.9, .beta2 = 0.95, .eps = 1e-8, .weight_decay = 0.1};
    const at::Tensor grad = ScaledGrad(flat), before = flat.parameters.to(at::kDouble);
    const at::Tensor first =
        Decoded(signed_map, codes.first, codes.first_absmax).to(at::kDouble) * step.beta1 +
        grad * (1 - step.beta1);
    const at::Tensor second =
        Decoded(unsigned_map, codes.second, codes.second_absmax).to(at::kDouble) * step.beta2 +
        grad * grad * (1 - step.beta2);
    const double first_correction = 1 - std::pow(step.beta1, number),
                 second_correction = 1 - std::pow(step.beta2, number);
    const at::Tensor want =
        before * (1 - step.lr * step.weight_decay) -
        step.lr / first_correction * first / ((second / second_correction).sqrt() + step.eps);
    C10_CUDA_CHECK(fused::AdamW8bit(Describe(flat), codes.Describe(tables), step, Stream()));
    checks.Near(name + " parameters", flat.parameters, want);
    checks.Near(name + " first absmax", codes.first_absmax, first.abs().view({-1, 256}).amax(1));
    checks.Near(name + " second absmax", codes.second_absmax, second.view({-1, 256}).amax(1));
    checks.True(name + " first codes",
                AreCodesOf(codes.first, signed_map, first, codes.first_absmax));
    checks.True(name + " second codes",
                AreCodesOf(codes.second, unsigned_map, second, codes.second_absmax));
    if (c.with_copy) {
      checks.Equal(name + " copy", flat.copy, flat.parameters.to(at::kBFloat16));
    }
  }
}

void CheckFp32MomentsOfBf16(Checks& checks, int64_t count) {
  const FlatTensors flat = MakeFlat({at::kBFloat16, at::kBFloat16, false}, count, true);
  const at::Tensor first = Random({count}, at::kFloat),
                   second = Random({count}, at::kFloat).square(), grad = ScaledGrad(flat);
  const at::Tensor want_first = first.to(at::kDouble) * 0.9 + grad * (1 - 0.9);
  fused::FlatParameters description = Describe(flat);
  description.fp32_moments = true;
  C10_CUDA_CHECK(fused::AdamW(description, first.data_ptr(), second.data_ptr(),
                              {.step = 3, .lr = 1e-2}, Stream()));
  checks.Near("AdamW bf16 with fp32 moments" + Text({count}), first, want_first);
}

void CheckNormSquared(Checks& checks, at::ScalarType type, int64_t count) {
  const std::string name = "AddNormSquared " + NameOf(type) + Text({count});
  const at::Tensor values = Random({count}, type);
  const at::Tensor sum = at::full({2}, std::nan(""), On(at::kDouble));
  const at::Tensor workspace =
      at::empty({static_cast<int64_t>(fused::kNormWorkspaceDoubles)}, On(at::kDouble));
  const auto add = [&](double beta, int64_t index) {
    C10_CUDA_CHECK(fused::AddNormSquared(TypeOf(values), count, values.data_ptr(), beta,
                                         sum.data_ptr<double>() + index,
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

}  // namespace

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
    CheckFp32MomentsOfBf16(checks, count);
  }
  for (const int64_t count : {256, 4352, 5'000'192}) {
    for (const FlatCase& c : kFlatCases) {
      for (const bool flag : {false, true}) {
        CheckAdamW8bit(checks, c, count, flag);
      }
    }
  }
}

void CheckRefusals(Checks& checks) {
  const at::Tensor some = at::zeros({64}, On(at::kFloat));
  fused::FlatParameters flat{
      .count = 16, .parameters = some.data_ptr<float>() + 1, .grads = some.data_ptr()};
  checks.True("a misaligned flat buffer is refused",
              fused::Sgd(flat, nullptr, {}, Stream()) == cudaErrorInvalidValue);
  flat = {.count = 16,
          .parameter_type = fused::Type::kBf16,
          .grad_type = fused::Type::kF32,
          .parameters = some.data_ptr(),
          .grads = some.data_ptr()};
  checks.True("fp32 gradients of bf16 parameters are refused",
              fused::Sgd(flat, nullptr, {}, Stream()) == cudaErrorInvalidValue);
  flat = {.count = 100,
          .parameter_type = fused::Type::kF32,
          .grad_type = fused::Type::kF32,
          .parameters = some.data_ptr(),
          .grads = some.data_ptr()};
  checks.True("half a block of 8-bit moments is refused",
              fused::AdamW8bit(flat, {}, {}, Stream()) == cudaErrorInvalidValue);
  checks.True(
      "an odd head is refused",
      fused::RopeForward({.batch = 1, .length = 1, .heads = 1, .kv_heads = 1, .head_dim = 5},
                         some.data_ptr(), Stream()) == cudaErrorInvalidValue);
  checks.True("no rows are a success", fused::SwiGluForward(fused::Type::kF32, 0, 8, nullptr,
                                                            nullptr, Stream()) == cudaSuccess);
}

}  // namespace trainctl::gpu
