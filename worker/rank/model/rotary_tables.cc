#include "worker/rank/model/rotary_tables.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/outer.h>
#include <ATen/ops/pow.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <span>
#include <vector>

#include "worker/rank/ops/segments.h"

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
    case RopeType::kDynamic: return;  // up to max_positions
    case RopeType::kYarn: return Yarn(scaling, shape.rope_theta, shape.head_dim, frequencies);
    case RopeType::kLinear:
      for (float& frequency : frequencies) frequency /= static_cast<float>(scaling.factor);
      return;
    case RopeType::kLlama3:
      for (float& frequency : frequencies) frequency = Llama3(scaling, frequency);
  }
}

at::Tensor Exponents(const job::ModelShape& shape) {
  return at::arange(0, shape.head_dim, 2, at::TensorOptions().dtype(at::kFloat)) /
         static_cast<double>(shape.head_dim);
}

at::Tensor Frequencies(double theta, const at::Tensor& exponents) {
  return at::pow(theta, exponents).reciprocal();
}

// The base that stretches long waves over such a row (emozilla 2023).
double DynamicTheta(const job::ModelShape& shape, int64_t longest) {
  const double factor = shape.rope_scaling->factor, dim = static_cast<double>(shape.head_dim),
               times = static_cast<double>(longest) / static_cast<double>(shape.max_positions);
  return shape.rope_theta * std::pow(factor * times - (factor - 1), dim / (dim - 2));
}

// positions [rows] fp32.
RotaryTables TablesOf(const at::Tensor& positions, const at::Tensor& frequencies,
                      double factor = 1) {
  const at::Tensor angles = at::outer(positions, frequencies);
  if (factor == 1) return {angles.cos(), angles.sin()};
  return {angles.cos() * factor, angles.sin() * factor};
}

// Each row that is packed, from its first position on.
std::vector<ops::TextSpan> SpansOf(const ops::Segments& segments) {
  std::vector<ops::TextSpan> spans;
  for (int64_t row = 0; row < segments.size(); ++row)
    spans.push_back({.text = row, .first = 0, .count = segments.length(row)});
  return spans;
}

}  // namespace

Rotation::Rotation(const job::ModelShape& shape, int64_t max_length, at::Device device)
    : shape_(shape), exponents_(Exponents(shape)) {
  const at::Tensor frequencies = Frequencies(shape.rope_theta, exponents_);
  if (shape.rope_scaling) {
    Scale(shape, {frequencies.data_ptr<float>(), static_cast<size_t>(frequencies.numel())});
  }
  const RotaryTables tables =
      TablesOf(at::arange(max_length, frequencies.options()), frequencies,
               shape.rope_scaling ? shape.rope_scaling->attention_factor : 1);
  tables_ = {tables.cos.to(device), tables.sin.to(device)};
  exponents_ = exponents_.to(device);
}

RotaryTables Rotation::At(const MicroBatch& batch) const {
  if (!tables_.cos.defined()) return {};
  if (batch.cache != nullptr) return OfEach(batch.cache->spans(), batch.cache->positions());
  if (batch.segments) return OfEach(SpansOf(*batch.segments), batch.segments->positions);
  return Range(0, batch.length, batch.longest());
}

bool Rotation::IsBeyond(int64_t longest) const {
  const bool is_dynamic = shape_.rope_scaling && shape_.rope_scaling->type == RopeType::kDynamic;
  return is_dynamic && longest > shape_.max_positions;
}

RotaryTables Rotation::Range(int64_t first, int64_t count, int64_t longest) const {
  if (IsBeyond(longest)) {
    return TablesOf(at::arange(first, first + count, exponents_.options()),
                    Frequencies(DynamicTheta(shape_, longest), exponents_));
  }
  return {tables_.cos.narrow(0, first, count), tables_.sin.narrow(0, first, count)};
}

RotaryTables Rotation::OfEach(std::span<const ops::TextSpan> spans,
                              const at::Tensor& positions) const {
  if (std::ranges::none_of(spans, [&](const ops::TextSpan& s) { return IsBeyond(s.end()); })) {
    return {at::index_select(tables_.cos, 0, positions),
            at::index_select(tables_.sin, 0, positions)};
  }
  std::vector<at::Tensor> cos, sin;
  for (const ops::TextSpan& span : spans) {
    const RotaryTables own = Range(span.first, span.count, span.end());
    cos.push_back(own.cos);
    sin.push_back(own.sin);
  }
  return {at::cat(cos), at::cat(sin)};
}

}  // namespace trainctl::model
