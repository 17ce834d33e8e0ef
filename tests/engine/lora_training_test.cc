// LoRA and QLoRA train their adapters and nothing else, the same however a batch is spread and
// whatever is recomputed.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/engine/family_shapes.h"
#include "tests/engine/tiny_training.h"

namespace trainctl::engine_test {
namespace {

bool IsAdapter(const std::string& name) { return name.find(".lora_") != std::string::npos; }

TinyRun LoraRun(double dropout) {
  TinyRun run;
  run.job.lora = job::LoraSpec{.r = 8, .alpha = 16, .dropout = dropout, .targets = {}};
  run.job.optimizer.weight_decay = 0.1;
  return run;
}

double Difference(const at::Tensor& a, const at::Tensor& b) {
  return (a.to(at::kFloat) - b.to(at::kFloat)).abs().max().item<double>();
}

void ExpectSame(const TinyResult& actual, const TinyResult& expected, double tolerance) {
  ASSERT_EQ(actual.losses.size(), expected.losses.size());
  for (size_t i = 0; i < expected.losses.size(); ++i) {
    EXPECT_NEAR(actual.losses[i], expected.losses[i], tolerance * std::abs(expected.losses[i]))
        << "step " << i;
  }
  for (const auto& [name, weight] : expected.weights)
    EXPECT_LE(Difference(actual.weights.at(name), weight), tolerance) << name;
  EXPECT_TRUE(actual.ranks_agree);
}

TEST(LoraTraining, OnlyAdaptersMove) {
  TinyRun run = LoraRun(0);
  const TinyResult after = Train(run);
  run.steps = 0;
  for (const auto& [name, weight] : Train(run).weights) {
    EXPECT_EQ(Difference(after.weights.at(name), weight) > 0, IsAdapter(name)) << name;
  }
  EXPECT_LT(after.losses.back(), after.losses.front() + 1);
}

TEST(LoraTraining, OptimizerStateIsOfTheAdaptersOnly) {
  const TinyResult result = Train(LoraRun(0));
  int64_t adapters = 0;
  for (const auto& [name, weight] : result.weights)
    adapters += IsAdapter(name) ? weight.numel() : 0;
  EXPECT_GE(result.held.optimizer, adapters * 8);
  EXPECT_LE(result.held.optimizer, adapters * 8 + 3 * 16 * 256 * 8);  // padding
}

TEST(LoraTraining, DropoutIsTheSameHoweverABatchIsSplit) {
  TinyRun run = LoraRun(0.3);
  run.micro = 4;
  const TinyResult whole = Train(run);
  run.micro = 1;
  run.accumulation = 4;
  ExpectSame(Train(run), whole, 2e-5);
  run.accumulation = 2;
  run.devices = 2;
  ExpectSame(Train(run), whole, 2e-5);
  EXPECT_NE(whole.losses[0], Train(LoraRun(0)).losses[0]);
}

TEST(LoraTraining, DropoutIsTheSameWhereABlockIsRecomputed) {
  TinyRun run = LoraRun(0.3);
  const TinyResult kept = Train(run);
  run.job.activation_checkpointing = 1;
  ExpectSame(Train(run), kept, 0);
}

TEST(LoraTraining, ShardedBaseWeightsTrainTheSameAdapters) {
  TinyRun run = LoraRun(0.3);
  run.devices = 2;
  const TinyResult ddp = Train(run);
  run.job.strategy = job::StrategyKind::kFsdp;
  const TinyResult fsdp = Train(run);
  ExpectSame(fsdp, ddp, 2e-5);
  EXPECT_LT(fsdp.held.params, ddp.held.params);
}

// Bit for bit under determinism, which sums in another way.
TEST(LoraTraining, OfEveryFamilyRanksTrainTheAdaptersOfOne) {
  for (const auto& [family, shape] : FamilyShapes()) {
    for (const bool deterministic : {true, false}) {
      SCOPED_TRACE(family + (deterministic ? ", deterministic" : ""));
      const double tolerance = deterministic ? 0 : 2e-5;
      TinyRun run = LoraRun(0.3);
      run.job.deterministic = deterministic;
      run.accumulation = 2;
      run.steps = 2;
      const TinyResult one = Train(run, shape);
      EXPECT_NE(one.losses[0], one.losses[1]);
      run.accumulation = 1;
      run.devices = 2;
      ExpectSame(Train(run, shape), one, tolerance);
      run.job.strategy = job::StrategyKind::kFsdp;
      ExpectSame(Train(run, shape), one, tolerance);
    }
  }
}

// What OPT's adapters are given comes of pictures, of which nothing is trained.
TEST(LoraTraining, AdaptersOfThePartNamedAloneMove) {
  for (const std::string part : {"", "vision.", "qformer."}) {
    TinyRun run = LoraRun(0.3);
    run.job.lora->targets = {part.empty() ? "q" : part + "o", part.empty() ? "v" : part + "up"};
    const TinyResult after = Train(run, TinyBlip2());
    run.job.strategy = job::StrategyKind::kFsdp;
    run.devices = 2;
    run.micro = 1;
    ExpectSame(Train(run, TinyBlip2()), after, 2e-5);
    run.devices = 1;
    run.steps = 0;
    const std::string prefix = part == "vision." ? "vision_model" : part.empty() ? "language" : "q";
    for (const auto& [name, weight] : Train(run, TinyBlip2()).weights) {
      EXPECT_EQ(IsAdapter(name), Difference(after.weights.at(name), weight) > 0) << name;
      EXPECT_TRUE(!IsAdapter(name) || name.starts_with(prefix)) << name;
    }
  }
}

class QloraTest : public ::testing::TestWithParam<job::Quantize> {};

TEST_P(QloraTest, FourBitWeightsTrainNearTheDenseOnes) {
  TinyRun run = LoraRun(0);
  run.job.precision = job::Precision::kBf16True;
  const TinyResult dense = Train(run);
  run.job.quantize = GetParam();
  const TinyResult quantized = Train(run);
  EXPECT_LT(quantized.held.params, dense.held.params);
  for (size_t i = 0; i < dense.losses.size(); ++i)
    EXPECT_NEAR(quantized.losses[i], dense.losses[i], 0.1) << "step " << i;
  EXPECT_NE(quantized.losses[0], dense.losses[0]);
}

TEST_P(QloraTest, RanksTrainAsOne) {
  TinyRun run = LoraRun(0.3);
  run.job.quantize = GetParam();
  run.accumulation = 2;
  const TinyResult one = Train(run);
  run.accumulation = 1;
  run.devices = 2;
  ExpectSame(Train(run), one, 2e-5);
}

TEST_P(QloraTest, RanksTrainAdaptersOfAllPartsAsOne) {
  TinyRun run = LoraRun(0.3);
  run.job.quantize = GetParam();
  // AdamW would make whole steps of gradients that are nothing but rounding: those of keys.
  run.job.optimizer.name = job::OptimizerKind::kSgd;
  run.accumulation = 2;
  job::ModelShape shape = TinyBlip2();
  shape.image->vision_hidden = 48;  // matrices in blocks of 64 elements
  const TinyResult one = Train(run, shape);
  run.job.activation_checkpointing = 1;
  ExpectSame(Train(run, shape), one, 0);
  run.accumulation = 1;
  run.devices = 2;
  ExpectSame(Train(run, shape), one, 2e-5);
}

INSTANTIATE_TEST_SUITE_P(Formats, QloraTest,
                         ::testing::Values(job::Quantize::kNf4, job::Quantize::kNf4Dq));

}  // namespace
}  // namespace trainctl::engine_test
