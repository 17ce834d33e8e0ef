// The same batch gives the same training, however it is spread over ranks and micro steps.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "tests/engine/family_shapes.h"
#include "tests/engine/tiny_training.h"

namespace trainctl::engine_test {
namespace {

void ExpectSame(const TinyResult& actual, const TinyResult& expected, double tolerance) {
  ASSERT_EQ(actual.losses.size(), expected.losses.size());
  for (size_t i = 0; i < expected.losses.size(); ++i) {
    EXPECT_NEAR(actual.losses[i], expected.losses[i], tolerance * std::abs(expected.losses[i]))
        << "step " << i;
  }
  for (const auto& [name, weight] : expected.weights) {
    const double error =
        (actual.weights.at(name).to(at::kFloat) - weight.to(at::kFloat)).abs().max().item<double>();
    EXPECT_LE(error, tolerance) << name;
  }
  EXPECT_TRUE(actual.ranks_agree);
}

void ExpectLearns(const TinyResult& result) {
  // Random rows: the loss starts near ln 40 and moves.
  EXPECT_NEAR(result.losses.front(), std::log(40.0), 0.5);
  EXPECT_NE(result.losses.front(), result.losses.back());
}

class DdpTest : public ::testing::TestWithParam<job::Precision> {
 protected:
  static TinyRun With(int64_t devices, int64_t accumulation, bool deterministic) {
    TinyRun run{.devices = devices, .accumulation = accumulation};
    run.job.precision = GetParam();
    run.job.deterministic = deterministic;
    return run;
  }
};

TEST_P(DdpTest, DeterministicRanksTimesAccumulationEqualOneRankBitForBit) {
  const TinyResult one = Train(With(1, 4, true));
  ExpectLearns(one);
  ExpectSame(Train(With(2, 2, true)), one, 0);
  ExpectSame(Train(With(4, 1, true)), one, 0);
}

INSTANTIATE_TEST_SUITE_P(Precisions, DdpTest,
                         ::testing::Values(job::Precision::k32True, job::Precision::kBf16True,
                                           job::Precision::kBf16Mixed));

TEST(Ddp, WithoutDeterminismEqualsOneRankUpToRounding) {
  const TinyResult one = Train({.devices = 1, .accumulation = 4});
  ExpectLearns(one);
  ExpectSame(Train({.devices = 2, .accumulation = 2}), one, 2e-5);
  ExpectSame(Train({.devices = 4, .accumulation = 1}), one, 2e-5);
}

TEST(Ddp, ClippingAndGradientNormEqualOneRank) {
  TinyRun run{.devices = 1, .accumulation = 4};
  run.job.train.max_norm = 0.05;
  const TinyResult one = Train(run);
  EXPECT_GT(one.norms[0], 0.05);
  run.devices = 2;
  run.accumulation = 2;
  const TinyResult two = Train(run);
  ExpectSame(two, one, 2e-5);
  for (size_t i = 0; i < one.norms.size(); ++i)
    EXPECT_NEAR(two.norms[i], one.norms[i], 1e-5 * one.norms[i]);
}

struct FsdpCase {
  const char* name;
  job::Sharding sharding = job::Sharding::kFull;
  job::FsdpUnit unit = job::FsdpUnit::kBlock;
  int64_t checkpoint_every = 0;
};

class FsdpTest : public ::testing::TestWithParam<FsdpCase> {
 protected:
  static TinyRun With(int64_t devices, int64_t accumulation) {
    TinyRun run{.devices = devices, .accumulation = accumulation};
    run.job.strategy = job::StrategyKind::kFsdp;
    run.job.sharding = GetParam().sharding;
    run.job.fsdp_unit = GetParam().unit;
    run.job.activation_checkpointing = GetParam().checkpoint_every;
    return run;
  }
};

TEST_P(FsdpTest, DeterministicEqualsOneRankBitForBit) {
  for (const job::Precision precision :
       {job::Precision::k32True, job::Precision::kBf16True, job::Precision::kBf16Mixed}) {
    TinyRun one{.accumulation = 4}, two = With(2, 2), four = With(4, 1);
    for (TinyRun* run : {&one, &two, &four}) {
      run->job.precision = precision;
      run->job.deterministic = true;
    }
    const TinyResult expected = Train(one);
    ExpectLearns(expected);
    ExpectSame(Train(two), expected, 0);
    ExpectSame(Train(four), expected, 0);
  }
}

TEST_P(FsdpTest, EqualsDdpUpToRounding) {
  const TinyResult ddp = Train({.devices = 2, .accumulation = 2});
  ExpectSame(Train(With(2, 2)), ddp, 2e-5);
  job::ModelShape tied = TinyShape();
  tied.tied_head = true;
  ExpectSame(Train(With(4, 1), tied), Train({.devices = 4}, tied), 2e-5);
}

job::ModelShape TinyOpt() {
  job::ModelShape shape = TinyShape();
  shape.family = "opt";
  shape.kv_heads = shape.heads;
  shape.tied_head = true;
  shape.dropout = 0.2;
  return shape;
}

// With biases, with norms of heads, with LayerNorm and dropout, behind pictures.
TEST_P(FsdpTest, EachFamilyEqualsOneRankBitForBitUnderDeterminism) {
  job::ModelShape qwen2 = TinyShape(), qwen3 = TinyShape();
  qwen2.qkv_bias = qwen2.out_bias = qwen2.mlp_bias = qwen2.tied_head = true;
  qwen3.head_norms = true;
  qwen3.head_dim = 12;
  for (const job::ModelShape& shape : {qwen2, qwen3, TinyOpt(), TinyBlip2()}) {
    TinyRun one{.accumulation = 4}, ddp{.devices = 2, .accumulation = 2}, fsdp = With(2, 2);
    for (TinyRun* run : {&one, &ddp, &fsdp}) run->job.deterministic = true;
    const TinyResult expected = Train(one, shape);
    ExpectLearns(expected);
    ExpectSame(Train(ddp, shape), expected, 0);
    ExpectSame(Train(fsdp, shape), expected, 0);
  }
}

TEST_P(FsdpTest, ClippingAndGradientNormEqualDdp) {
  TinyRun ddp{.devices = 2, .accumulation = 2}, fsdp = With(2, 2);
  ddp.job.train.max_norm = fsdp.job.train.max_norm = 0.05;
  const TinyResult expected = Train(ddp), actual = Train(fsdp);
  ExpectSame(actual, expected, 2e-5);
  for (size_t i = 0; i < expected.norms.size(); ++i)
    EXPECT_NEAR(actual.norms[i], expected.norms[i], 1e-5 * expected.norms[i]);
}

TEST_P(FsdpTest, ARankHoldsItsShardOnly) {
  const job::MemoryByKind whole = Train({.accumulation = 4}).held, shard = Train(With(4, 1)).held;
  EXPECT_NEAR(static_cast<double>(shard.params), static_cast<double>(whole.params) / 4,
              0.05 * static_cast<double>(whole.params));
  EXPECT_NEAR(static_cast<double>(shard.optimizer), static_cast<double>(whole.optimizer) / 4,
              0.05 * static_cast<double>(whole.optimizer));
  EXPECT_EQ(shard.grads, 0);
}

TEST_P(FsdpTest, GradientsThatAreHeldWholeAreReducedOnceAStep) {
  TinyRun each = With(2, 4), held = With(2, 4);
  held.holds_gradients = true;
  EXPECT_EQ(Train(each).reduce_scatters, each.steps * 4 * kTinyUnits);
  EXPECT_EQ(Train(held).reduce_scatters, held.steps * kTinyUnits);
}

TEST_P(FsdpTest, GradientsThatAreHeldWholeAreDdpsBitForBit) {
  for (const job::Precision precision :
       {job::Precision::k32True, job::Precision::kBf16True, job::Precision::kBf16Mixed}) {
    TinyRun ddp{.devices = 2, .accumulation = 3}, held = With(2, 3);
    ddp.job.precision = held.job.precision = precision;
    held.holds_gradients = true;
    const TinyResult expected = Train(ddp), actual = Train(held);
    ExpectLearns(expected);
    ExpectSame(actual, expected, 0);
    EXPECT_EQ(actual.held.grads, 0);
  }
}

TEST_P(FsdpTest, HeldWholeOrReducedInEachMicroStepIsTheSameUpToRounding) {
  job::ModelShape tied = TinyShape();
  tied.tied_head = true;
  TinyRun each = With(2, 3), held = With(2, 3);
  each.job.train.max_norm = held.job.train.max_norm = 0.05;
  held.holds_gradients = true;
  const TinyResult expected = Train(each, tied), actual = Train(held, tied);
  ExpectSame(actual, expected, 2e-5);
  for (size_t i = 0; i < expected.norms.size(); ++i)
    EXPECT_NEAR(actual.norms[i], expected.norms[i], 1e-5 * expected.norms[i]);
}

TEST_P(FsdpTest, FrozenPartsStayAndTheRestIsOneRanksBitForBit) {
  for (const std::vector<std::string>& freeze : std::vector<std::vector<std::string>>{
           {"vision"}, {"vision", "language"}, {"language"}, {"qformer", "projection"}}) {
    TinyRun one{.accumulation = 4}, ddp{.devices = 2, .accumulation = 2}, fsdp = With(2, 2);
    for (TinyRun* run : {&one, &ddp, &fsdp}) {
      run->job.deterministic = true;
      run->job.freeze = freeze;
    }
    const TinyResult expected = Train(one, TinyBlip2());
    ExpectLearns(expected);
    ExpectSame(Train(ddp, TinyBlip2()), expected, 0);
    ExpectSame(Train(fsdp, TinyBlip2()), expected, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, FsdpTest,
    ::testing::Values(FsdpCase{"Full"}, FsdpCase{"GradOp", job::Sharding::kGradOp},
                      FsdpCase{"ModelUnit", job::Sharding::kFull, job::FsdpUnit::kModel},
                      FsdpCase{"Checkpointed", job::Sharding::kFull, job::FsdpUnit::kBlock, 1}),
    [](const auto& tested) { return tested.param.name; });

TEST(Families, RanksTrainEveryOneAsOneRankDoesBitForBitUnderDeterminism) {
  for (const auto& [family, shape] : FamilyShapes()) {
    for (const job::Precision precision : {job::Precision::k32True, job::Precision::kBf16Mixed}) {
      SCOPED_TRACE(family + (precision == job::Precision::k32True ? "" : ", bf16-mixed"));
      TinyRun run{.accumulation = 2, .steps = 2};
      run.job.precision = precision;
      run.job.deterministic = true;
      const TinyResult one = Train(run, shape);
      EXPECT_NE(one.losses[0], one.losses[1]);
      run.accumulation = 1;
      run.devices = 2;
      ExpectSame(Train(run, shape), one, 0);
      run.job.strategy = job::StrategyKind::kFsdp;
      ExpectSame(Train(run, shape), one, 0);
    }
  }
}

// The same arithmetic, but for where AdamW's formula is rounded.
TEST(OffloadedOptimizer, EqualsTheOneOnTheDeviceUpToRounding) {
  for (const job::Precision precision : {job::Precision::k32True, job::Precision::kBf16Mixed}) {
    for (const job::StrategyKind strategy :
         {job::StrategyKind::kSingle, job::StrategyKind::kFsdp}) {
      TinyRun device{.devices = strategy == job::StrategyKind::kFsdp ? 2 : 1, .accumulation = 2};
      device.job.precision = precision;
      device.job.strategy = strategy;
      TinyRun host = device;
      host.job.offload_optimizer = true;
      const TinyResult expected = Train(device), actual = Train(host);
      ExpectLearns(expected);
      ExpectSame(actual, expected, precision == job::Precision::k32True ? 2e-5 : 2e-3);
      EXPECT_EQ(actual.held.optimizer, 0);
      EXPECT_EQ(actual.held.optimizer_cpu, expected.held.optimizer / 2 * 3);
    }
  }
}

TEST(OffloadedOptimizer, TakesGradientsThatWereHeldWhole) {
  TinyRun device{.devices = 2, .accumulation = 3};
  device.job.strategy = job::StrategyKind::kFsdp;
  device.holds_gradients = true;
  TinyRun host = device;
  host.job.offload_optimizer = true;
  ExpectSame(Train(host), Train(device), 2e-5);
}

TEST(OffloadedOptimizer, ClipsByTheSameNorm) {
  TinyRun device{.devices = 2, .accumulation = 2};
  device.job.strategy = job::StrategyKind::kFsdp;
  device.job.train.max_norm = 0.05;
  TinyRun host = device;
  host.job.offload_optimizer = true;
  const TinyResult expected = Train(device), actual = Train(host);
  EXPECT_GT(expected.norms[0], 0.05);
  ExpectSame(actual, expected, 2e-5);
}

TEST(AdamW8bit, ShardsEqualTheWhole) {
  TinyRun one{.accumulation = 4}, two{.devices = 2, .accumulation = 2};
  two.job.strategy = job::StrategyKind::kFsdp;
  for (TinyRun* run : {&one, &two}) {
    run->job.optimizer.name = job::OptimizerKind::kAdamW8bit;
    run->job.deterministic = true;
  }
  job::ModelShape shape = TinyShape();
  shape.hidden = 64;  // matrices of 4,096 elements and more, vectors of less
  shape.intermediate = 96;
  shape.head_dim = 16;
  const TinyResult whole = Train(one, shape);
  ExpectLearns(whole);
  ExpectSame(Train(two, shape), whole, 0);
}

TEST(Checkpointing, GivesTheSameBits) {
  TinyRun run{.accumulation = 2};
  const TinyResult kept = Train(run);
  for (const int64_t every : {1, 2}) {
    run.job.activation_checkpointing = every;
    ExpectSame(Train(run), kept, 0);
  }
}

TEST(Checkpointing, DropsTheSameElementsAgain) {
  TinyRun run{.accumulation = 2};
  const TinyResult kept = Train(run, TinyOpt());
  ExpectLearns(kept);
  run.job.activation_checkpointing = 1;
  ExpectSame(Train(run, TinyOpt()), kept, 0);
}

TEST(Checkpointing, OfPicturesGivesTheSameBits) {
  TinyRun run{.accumulation = 2};
  for (const std::vector<std::string>& freeze :
       {std::vector<std::string>{}, std::vector<std::string>{"vision"}}) {
    run.job.freeze = freeze;
    run.job.activation_checkpointing = 0;
    const TinyResult kept = Train(run, TinyBlip2());
    for (const int64_t every : {1, 2}) {
      run.job.activation_checkpointing = every;
      ExpectSame(Train(run, TinyBlip2()), kept, 0);
    }
  }
}

TEST(Freezing, HoldsNoGradientAndNoStateOfWhatIsFrozen) {
  TinyRun whole, frozen;
  frozen.job.freeze = {"vision", "language"};
  const TinyResult all = Train(whole, TinyBlip2()), some = Train(frozen, TinyBlip2());
  EXPECT_LT(some.held.optimizer, all.held.optimizer * 6 / 10);
  EXPECT_EQ(some.held.params, all.held.params);
  TinyRun nothing = frozen;
  nothing.steps = 0;
  const TinyResult begun = Train(nothing, TinyBlip2());
  for (const auto& [name, weight] : begun.weights) {
    const bool is_trained = name.starts_with("qformer") || name == "query_tokens" ||
                            name.starts_with("language_projection");
    // Softmax does not see what is added to all keys.
    if (is_trained && name.ends_with("key.bias")) continue;
    EXPECT_EQ(at::equal(some.weights.at(name), weight), !is_trained) << name;
  }
}

TEST(Dropout, IsTheSameHoweverTheBatchIsSplit) {
  TinyRun run{.accumulation = 1, .micro = 4}, small{.accumulation = 2, .micro = 2},
      two{.devices = 2, .accumulation = 1, .micro = 2};
  // AdamW would make whole steps of the keys' biases, whose gradients are nothing but rounding.
  for (TinyRun* one : {&run, &small, &two}) one->job.optimizer.name = job::OptimizerKind::kSgd;
  const TinyResult whole = Train(run, TinyOpt());
  ExpectSame(Train(small, TinyOpt()), whole, 2e-5);
  ExpectSame(Train(two, TinyOpt()), whole, 2e-5);
  job::ModelShape without = TinyOpt();
  without.dropout = 0;
  EXPECT_GT(std::abs(Train(run, without).losses[0] - whole.losses[0]), 1e-3)
      << "nothing was dropped";
}

TEST(Accumulation, SmallMicroBatchesEqualOneLargeOne) {
  const TinyResult whole = Train({.accumulation = 1, .micro = 4});
  ExpectSame(Train({.accumulation = 4, .micro = 1}), whole, 2e-5);
}

TEST(Accumulation, EqualsOneLargeMicroBatchWithATiedHead) {
  job::ModelShape tied = TinyShape();
  tied.tied_head = true;
  const TinyResult whole = Train({.accumulation = 1, .micro = 4}, tied);
  ExpectSame(Train({.accumulation = 2, .micro = 2}, tied), whole, 2e-5);
  ExpectSame(Train({.devices = 2, .accumulation = 1, .micro = 2}, tied), whole, 2e-5);
}

TEST(Packing, SeparateMatricesTrainLikePackedOnes) {
  // hidden 20: no piece is a multiple of 256 elements.
  job::ModelShape odd = TinyShape();
  odd.hidden = 20;
  odd.heads = 2;
  odd.kv_heads = 1;
  odd.head_dim = 10;
  const TinyResult whole = Train({.accumulation = 1, .micro = 4}, odd);
  ExpectLearns(whole);
  ExpectSame(Train({.devices = 2, .accumulation = 2, .micro = 1}, odd), whole, 2e-5);
}

}  // namespace
}  // namespace trainctl::engine_test
