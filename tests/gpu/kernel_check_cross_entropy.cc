#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/clamp_min.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/full.h>
#include <ATen/ops/isnan.h>
#include <ATen/ops/logsumexp.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/zeros.h>

#include <limits>

#include "tests/gpu/kernel_checks.h"
#include "tests/gpu/kernel_device.h"

namespace trainctl::gpu {
namespace {

namespace fused = ops::fused;

void CheckCrossEntropy(Checks& checks, int64_t rows, int64_t vocab, at::ScalarType type,
                       bool misaligned, double spread) {
  const std::string name = "CrossEntropy " + NameOf(type) +
                           Text({rows, vocab, misaligned, static_cast<int64_t>(spread)});
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
  const at::Tensor losses = at::empty({rows}, On(at::kFloat)),
                   device_scale = at::full({}, 0.25, On(at::kFloat));
  const fused::CrossEntropy loss{.element = TypeOf(logits),
                                 .rows = rows,
                                 .vocab = vocab,
                                 .logits = logits.data_ptr(),
                                 .targets = targets.data_ptr<int64_t>(),
                                 .losses = losses.data_ptr<float>()};
  const at::Tensor wide = original.to(at::kDouble), ignored = targets < 0,
                   index = at::clamp_min(targets, 0).unsqueeze(1);
  const at::Tensor want =
      (at::logsumexp(wide, 1) - wide.gather(1, index).squeeze(1)).masked_fill(ignored, 0);
  // A loss is a difference of numbers as large as the logits, whose rounding it inherits.
  const double rounding = wide.numel() == 0 ? 0
                                            : 4 * std::numeric_limits<float>::epsilon() *
                                                  wide.abs().max().item<double>();
  C10_CUDA_CHECK(fused::CrossEntropyForward(loss, Stream()));
  checks.Near(name + " forward", losses, want, 1e-5, rounding);
  checks.Equal(name + " forward leaves the logits", logits, original);
  losses.fill_(-1);
  C10_CUDA_CHECK(
      fused::CrossEntropyForwardBackward(loss, 2.0f, device_scale.data_ptr<float>(), Stream()));
  checks.Near(name + " losses", losses, want, 1e-5, rounding);
  at::Tensor gradient = at::softmax(wide, 1);
  gradient.scatter_add_(1, index, at::full({rows, 1}, -1.0, On(at::kDouble)));
  checks.Near(name + " gradient", logits, gradient.masked_fill(ignored.unsqueeze(1), 0) * 0.5, 1e-5,
              rounding);
}

void CheckCrossEntropyOfForeignTarget(Checks& checks) {
  const at::Tensor logits = Random({2, 10}, at::kFloat), losses = at::zeros({2}, On(at::kFloat));
  const at::Tensor targets = at::arange(9, 11, On(at::kLong));  // 10 is beyond
  C10_CUDA_CHECK(fused::CrossEntropyForward({.element = fused::Type::kF32,
                                             .rows = 2,
                                             .vocab = 10,
                                             .logits = logits.data_ptr(),
                                             .targets = targets.data_ptr<int64_t>(),
                                             .losses = losses.data_ptr<float>()},
                                            Stream()));
  checks.True("CrossEntropy of a target beyond the vocabulary is NaN",
              !at::isnan(losses)[0].item<bool>() && at::isnan(losses)[1].item<bool>());
}

}  // namespace

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

}  // namespace trainctl::gpu
