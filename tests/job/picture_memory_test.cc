// What is predicted of BLIP-2 with OPT-2.7B: parameters of all parts, what a frozen part saves, and
// that a model without pictures has nothing of it.
#include <gtest/gtest.h>

#include "common/estimate/check_model.h"
#include "common/estimate/encoder_work.h"
#include "common/estimate/lora_targets.h"
#include "common/estimate/memory_estimate.h"
#include "common/estimate/memory_units.h"
#include "common/estimate/run_time.h"
#include "common/job/check_job.h"
#include "common/model/model_description.h"
#include "tests/job/gib.h"
#include "tests/job/valid_job.h"

namespace trainctl::job {
namespace {

constexpr int64_t kParameters = 3'744'761'856;

ModelShape Blip2Opt() {
  return {.family = "blip-2",
          .layers = 32,
          .hidden = 2560,
          .intermediate = 10240,
          .heads = 32,
          .kv_heads = 32,
          .head_dim = 80,
          .vocab = 50304,
          .max_positions = 2048,
          .tied_head = true,
          .dropout = 0.1,
          .image = ImageShape{.token = 50265,
                              .vision_layers = 39,
                              .vision_hidden = 1408,
                              .vision_intermediate = 6144,
                              .vision_heads = 16,
                              .queries = 32,
                              .qformer_layers = 12,
                              .qformer_hidden = 768,
                              .qformer_intermediate = 3072,
                              .qformer_heads = 12,
                              .qformer_dropout = 0.1,
                              .qformer_attention_dropout = 0.1}};
}

// Of the lab: 82 positions.
Inspection Captions() { return {.model = Blip2Opt(), .longest_row = 82}; }

JobSpec LabJob() {
  JobSpec job = SmallestJob();
  job.precision = Precision::kBf16True;
  job.train.micro_batch_size = 16;
  job.train.global_batch_size = 64;
  return job;
}

MemoryEstimate Predict(const JobSpec& job) {
  return EstimateMemory(job, Captions(), DeviceKind::kCuda);
}

const MemoryByKind& At(const MemoryEstimate& estimate, Phase phase) {
  return estimate.phases[static_cast<size_t>(phase)];
}

void ExpectAbout(int64_t actual, int64_t expected, double share) {
  EXPECT_NEAR(static_cast<double>(actual), static_cast<double>(expected),
              share * static_cast<double>(expected));
}

int64_t PartParameters(ModelPart part) {
  int64_t elements = 0;
  for (const EncoderUnit& unit : Describe(Blip2Opt()).encoder)
    elements += unit.part == part ? AllElements(unit.layers) : 0;
  return elements;
}

TEST(PictureMemory, CountsEveryPart) {
  EXPECT_EQ(Parameters(Describe(Blip2Opt())), kParameters);
  EXPECT_EQ(PartParameters(ModelPart::kVision), 985'952'256);
  EXPECT_EQ(PartParameters(ModelPart::kQFormer), 105'162'240);
  EXPECT_EQ(PartParameters(ModelPart::kProjection), 1'968'640);
  const MemoryByKind before = At(Predict(LabJob()), Phase::kBeforeForward);
  ExpectAbout(before.params, 2 * kParameters, 1e-3);
  ExpectAbout(before.optimizer, 4 * kParameters, 1e-3);
}

TEST(PictureMemory, AFrozenPartHasNoStateNoGradientAndSavesNothing) {
  JobSpec frozen = LabJob();
  frozen.freeze = {"vision"};
  const MemoryEstimate all = Predict(LabJob()), some = Predict(frozen);
  const int64_t vision = PartParameters(ModelPart::kVision);
  const auto difference = [&](Phase phase, int64_t MemoryByKind::* kind) {
    return At(all, phase).*kind - At(some, phase).*kind;
  };
  EXPECT_EQ(difference(Phase::kBeforeForward, &MemoryByKind::params), 0);
  ExpectAbout(difference(Phase::kBeforeForward, &MemoryByKind::optimizer), 4 * vision, 1e-3);
  // 39 layers of 257 rows a sample, in bf16.
  const int64_t saved = int64_t{16} * 257 * 39 * (6 * 1408 + 6144) * 2;
  EXPECT_GT(difference(Phase::kAfterForward, &MemoryByKind::other), saved);
  EXPECT_LT(difference(Phase::kAfterForward, &MemoryByKind::other), saved * 11 / 10);
  EXPECT_GT(all.peak_allocated - some.peak_allocated, 6 * vision + saved);
}

TEST(PictureMemory, TheFeaturesStayWhereTheQFormerAloneIsTrained) {
  JobSpec trained = LabJob(), frozen = LabJob();
  trained.freeze = {"vision"};
  frozen.freeze = {"vision", "qformer"};
  int64_t saved = int64_t{16} * 257 * 1408 * 2;
  for (const EncoderUnit& unit : Describe(Blip2Opt()).encoder) {
    if (unit.part == ModelPart::kQFormer)
      saved += 16 * (2 * unit.saves.compute + 4 * unit.saves.fp32);
  }
  EXPECT_EQ(At(Predict(trained), Phase::kAfterForward).other -
                At(Predict(frozen), Phase::kAfterForward).other,
            saved);
}

TEST(PictureMemory, OfAFrozenDecoderItsBlocksStillSaveForWhatIsBeforeThem) {
  JobSpec decoder = LabJob(), both = LabJob();
  decoder.freeze = {"language"};
  both.freeze = {"vision", "qformer", "projection"};
  const auto saved = [&](const JobSpec& job) {
    return At(Predict(job), Phase::kAfterForward).other;
  };
  EXPECT_EQ(saved(decoder), saved(LabJob()));
  EXPECT_LT(saved(both), saved(LabJob()));
}

TEST(PictureMemory, CheckpointingLeavesTheInputsOfLayersOfAllParts) {
  JobSpec job = LabJob();
  job.activation_checkpointing = 1;
  EXPECT_LT(At(Predict(job), Phase::kAfterForward).other,
            At(Predict(LabJob()), Phase::kAfterForward).other / 6);
}

TEST(PictureMemory, ShardsAreAQuarterOnFourDevices) {
  JobSpec job = LabJob();
  job.devices = 4;
  job.train.global_batch_size = 256;
  job.strategy = StrategyKind::kFsdp;
  const MemoryByKind before = At(Predict(job), Phase::kBeforeForward);
  ExpectAbout(before.optimizer, kParameters, 2e-3);
  constexpr int64_t kVisionBlock = 25'249'664;  // stays whole from the micro step before
  EXPECT_LT(before.params, 2 * kParameters / 4 + 2 * (2'000'000 + kVisionBlock));  // and the first
  EXPECT_GT(before.params, 2 * kParameters / 4 + 2 * kVisionBlock);
}

TEST(PictureMemory, AdaptersOfOptsAttentionAloneLetPicturesSaveNothing) {
  JobSpec job = LabJob();
  job.lora = LoraSpec{.r = 16, .alpha = 32, .targets = {"q", "v"}};
  const ModelUnits units = UnitsOf(job, Blip2Opt());
  EXPECT_FALSE(EncoderTrains(units, units.encoder.size()));
  EXPECT_EQ(SumOverUnits(units, [](const UnitElements& unit) { return unit.trainable; }),
            32 * 2 * 16 * (2560 + 2560));
  job.lora->targets = {"vision.qkv", "qformer.k"};
  EXPECT_EQ(LoraTargets(*job.lora, Blip2Opt()).size(), 39u + 12u + 6u);
  EXPECT_TRUE(CheckModel(job, Blip2Opt()).empty());
  job.lora->targets = {"gate"};
  EXPECT_EQ(CheckModel(job, Blip2Opt()).size(), 1u);
}

// 2 · parameters a row of forward, and twice that of backward, by rows of each part.
TEST(PictureTime, CountsRowsOfPictures) {
  const EncoderWork work = EncoderWorkOf(LabJob(), Blip2Opt());
  const double vision = 6.0 * 257 * 39 * (4 * 1408.0 * 1408 + 2 * 1408.0 * 6144);
  EXPECT_GT(work.flops, vision);
  EXPECT_LT(work.flops, 1.3 * vision);
  JobSpec frozen = LabJob();
  frozen.freeze = {"vision"};
  EXPECT_LT(EncoderWorkOf(frozen, Blip2Opt()).flops, 0.5 * work.flops);
  EXPECT_NE(ShapeKey(frozen, Captions()), ShapeKey(LabJob(), Captions()));
}

TEST(PictureMemory, WhatIsFrozenByLoraNeedsNoFreeze) {
  JobSpec job = LabJob();
  job.freeze = {"vision"};
  EXPECT_TRUE(CheckJob(job).empty());
  job.lora = LoraSpec{};
  const std::vector<Problem> problems = CheckJob(job);
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].path, "freeze");
}

}  // namespace
}  // namespace trainctl::job
