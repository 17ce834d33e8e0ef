// YaRN's frequencies beside those of transformers 5.23, whose numbers these are: its
// ROPE_INIT_FUNCTIONS["yarn"] of a LlamaConfig, head_dim 16, factor 4, 64 original positions.
#include "worker/rank/model/rotary_tables.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <vector>

namespace trainctl::engine_test {
namespace {

constexpr int64_t kHeadDim = 16;

struct Case {
  const char* name;
  double beta_fast, beta_slow;
  bool truncates;
  double factor;                    // of attention
  std::vector<double> frequencies;  // of the first three pairs; the rest is the same of all
};

class YarnTest : public testing::TestWithParam<Case> {};

TEST_P(YarnTest, FrequenciesAreTransformersOwn) {
  job::ModelShape shape{
      .family = "llama", .heads = 4, .kv_heads = 4, .head_dim = kHeadDim, .max_positions = 256};
  shape.rope_scaling = job::RopeScaling{.type = job::RopeType::kYarn,
                                        .factor = 4,
                                        .original_positions = 64,
                                        .beta_fast = GetParam().beta_fast,
                                        .beta_slow = GetParam().beta_slow,
                                        .attention_factor = GetParam().factor,
                                        .truncates_correction = GetParam().truncates};
  const model::Rotation rotation(shape, /*max_length=*/2, at::kCPU);
  const model::RotaryTables tables = rotation.At({.rows = 1, .length = 2});
  std::vector<double> expected = GetParam().frequencies;
  expected.insert(expected.end(),
                  {0.00790569466, 0.00249999994, 0.000790569466, 0.000250000012, 7.90569466e-05});
  for (int64_t pair = 0; pair < kHeadDim / 2; ++pair) {
    const at::Tensor cos = tables.cos[1][pair], sin = tables.sin[1][pair];
    const double frequency = at::atan2(sin, cos).item<double>();
    EXPECT_NEAR(frequency, expected[pair], 2e-6 * expected[pair]) << pair;
    EXPECT_NEAR(at::hypot(sin, cos).item<double>(), GetParam().factor, 1e-6) << pair;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Transformers, YarnTest,
    testing::Values(Case{"defaults", 32, 1, true, 1.13862944, {1, 0.237170815, 0.049999997}},
                    Case{"betas", 8, 2, true, 1.13862944, {1, 0.197642356, 0.0250000004}},
                    Case{"not_truncated", 32, 1, false, 1.13862944, {1, 0.198583528, 0.0255952496}},
                    Case{"all", 4, 0.5, false, 1.5, {1, 0.291525632, 0.0506643951}}),
    [](const auto& c) { return std::string(c.param.name); });

}  // namespace
}  // namespace trainctl::engine_test
