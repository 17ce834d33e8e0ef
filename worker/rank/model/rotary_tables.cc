#include "worker/rank/model/rotary_tables.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/outer.h>
#include <ATen/ops/pow.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <span>

namespace trainctl::model {
namespace {

using job::RopeScaling;
using job::RopeType;

constexpr double kTurn = 2 * std::numbers::pi;
constexpr double kLeastRamp = 0.001;

// Long waves are stretched by the factor, short ones stay, and those between are in between.
float Llama3(const RopeScaling& s, float frequency) {
  const double positions = static_cast<double>(s.original_positions);
  const double length = kTurn / frequency;
  if (length < positions / s.high_freq_factor) return frequency;
  if (length > positions / s.low_freq_factor) return static_cast<float>(frequency / s.factor);
  const double smooth =
      (positions / length - s.low_freq_factor) / (s.high_freq_factor - s.low_freq_factor);
  return static_cast<float>((1 - smooth) * frequency / s.factor + smooth * frequency);
}

// The pair of elements whose wave turns so often in the texts of the pretraining.
double PairOf(double turns, const RopeScaling& s, double theta, int64_t head_dim) {
  return static_cast<double>(head_dim) *
         std::log(static_cast<double>(s.original_positions) / (turns * kTurn)) /
         (2 * std::log(theta));
}

void Yarn(const RopeScaling& s, double theta, int64_t head_dim, std::span<float> frequencies) {
  double low = PairOf(s.beta_fast, s, theta, head_dim),
         high = PairOf(s.beta_slow, s, theta, head_dim);
  if (s.truncates_correction) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, static_cast<double>(head_dim - 1));
  if (low == high) high += kLeastRamp;
  for (size_t pair = 0; pair < frequencies.size(); ++pair) {
    const double stretched = std::clamp((static_cast<double>(pair) - low) / (high - low), 0.0, 1.0);
    frequencies[pair] = static_cast<float>(frequencies[pair] / s.factor * stretched +
                                           frequencies[pair] * (1 - stretched));
  }
}

void Scale(const job::ModelShape& shape, std::span<float> frequencies) {
  const RopeScaling& scaling = *shape.rope_scaling;
  switch (scaling.type) {
    case RopeType::kDynamic: return;  // CheckModel refuses rows that it would change
    case RopeType::kYarn: return Yarn(scaling, shape.rope_theta, shape.head_dim, frequencies);
    case RopeType::kLinear:
      for (float& frequency : frequencies) frequency /= static_cast<float>(scaling.factor);
      return;
    case RopeType::kLlama3:
      for (float& frequency : frequencies) frequency = Llama3(scaling, frequency);
  }
}

}  // namespace

RotaryTables MakeRotaryTables(const job::ModelShape& shape, int64_t length) {
  const auto fp32 = at::TensorOptions().dtype(at::kFloat);
  const at::Tensor exponents =
      at::arange(0, shape.head_dim, 2, fp32) / static_cast<double>(shape.head_dim);
  const at::Tensor frequencies = at::pow(shape.rope_theta, exponents).reciprocal();
  if (shape.rope_scaling) {
    Scale(shape, {frequencies.data_ptr<float>(), static_cast<size_t>(frequencies.numel())});
  }
  const at::Tensor angles = at::outer(at::arange(length, fp32), frequencies);
  const double factor = shape.rope_scaling ? shape.rope_scaling->attention_factor : 1;
  if (factor == 1) return {angles.cos(), angles.sin()};
  return {angles.cos() * factor, angles.sin() * factor};
}

}  // namespace trainctl::model
