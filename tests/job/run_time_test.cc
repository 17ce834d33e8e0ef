#include "common/estimate/run_time.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/estimate/device_rates.h"
#include "common/estimate/predict_time.h"
#include "common/estimate/prediction.h"
#include "tests/job/tiny_llama.h"
#include "tests/job/valid_job.h"

namespace trainctl::job {
namespace {

using testing::HasSubstr;
using testing::Not;
using tiny_llama::TinyLlama;

constexpr const char* kH200 = "NVIDIA H200";
constexpr double kFirstStep = 0.23;  // the seconds that it takes longer

// Rows that are all full, as where peers were measured.
Inspection FullRows(ModelShape model, int64_t length) {
  return {.model = std::move(model),
          .rows = 4096,
          .longest_row = length,
          .total_tokens = 4096 * length,
          .data_digest = "d"};
}

ModelShape OpenLlama7b() {
  return {.layers = 32,
          .hidden = 4096,
          .intermediate = 11008,
          .heads = 32,
          .kv_heads = 32,
          .head_dim = 128,
          .vocab = 32000};
}
ModelShape OpenLlama13b() {
  return {.layers = 40,
          .hidden = 5120,
          .intermediate = 13824,
          .heads = 40,
          .kv_heads = 40,
          .head_dim = 128,
          .vocab = 32000};
}
ModelShape SmolLm2() {
  return {.layers = 30,
          .hidden = 576,
          .intermediate = 1536,
          .heads = 9,
          .kv_heads = 3,
          .head_dim = 64,
          .vocab = 49152,
          .tied_head = true};
}

JobSpec Bf16(int64_t micro, int64_t devices = 1) {
  JobSpec job = SmallestJob();
  job.precision = Precision::kBf16True;
  job.train.micro_batch_size = micro;
  job.devices = devices;
  if (devices > 1) job.strategy = StrategyKind::kFsdp;
  return job;
}

double TokensPerSecond(const JobSpec& job, const Inspection& inspection,
                       std::string_view device = kH200) {
  const double rows = static_cast<double>(*job.train.micro_batch_size * job.devices *
                                          job.train.accumulate_grad_batches.value_or(1));
  return rows * static_cast<double>(inspection.longest_row) /
         EstimateTime(job, inspection, device)->step_seconds;
}

void ExpectWithin(double share, double value, double expected) {
  EXPECT_NEAR(value, expected, share * expected);
}

TEST(EstimateTime, AWindowSpendsLessOnRowsThatReachBeyondIt) {
  const auto seconds = [](int64_t window, std::vector<int64_t> full = {},
                          std::string_view device = kH200) {
    Inspection inspection = FullRows(OpenLlama7b(), 8192);
    inspection.model.sliding_window = window;
    inspection.model.full_layers = std::move(full);
    JobSpec job = Bf16(1);
    job.train.max_seq_length = 8192;
    return EstimateTime(job, inspection, device)->step_seconds;
  };
  const double whole = seconds(0);
  EXPECT_EQ(seconds(8192), whole);
  EXPECT_LT(seconds(1024), 0.9 * whole);
  EXPECT_LT(seconds(512), seconds(1024));
  EXPECT_LT(seconds(1024), seconds(1024, {0, 1, 2}));
  EXPECT_LT(seconds(1024, {0, 1, 2}), whole);
  EXPECT_EQ(seconds(1024, std::vector<int64_t>(40)), whole) << "at most all";
  const char* cpu = "CPU slot (2 threads)";
  EXPECT_LT(seconds(1024, {}, cpu), seconds(0, {}, cpu));
  EXPECT_GT(seconds(8191, {}, cpu), seconds(0, {}, cpu)) << "hidden keys of a piece are computed";
}

TEST(EstimateTime, IsNearWhatWasMeasuredInLongRuns) {
  const Inspection seven = FullRows(OpenLlama7b(), 512);
  ExpectWithin(0.1, TokensPerSecond(Bf16(4), seven), 12'733);
  ExpectWithin(0.1, TokensPerSecond(Bf16(8), seven), 13'945);
  ExpectWithin(0.1, TokensPerSecond(Bf16(16), seven), 14'716);
  JobSpec cpu = Bf16(4);
  cpu.precision = Precision::k32True;
  ExpectWithin(0.15, TokensPerSecond(cpu, FullRows(SmolLm2(), 128), "CPU slot (2 threads)"), 185);
}

// The README's table of 4 H200s: rows of 512 tokens, no accumulation.
TEST(Estimates, AreNearWhatThisEngineWasMeasuredToNeed) {
  struct Measured {
    ModelShape model;
    Precision precision;
    int64_t micro, devices;
    double gib, tokens_per_second;
  };
  const ModelShape tiny = TinyLlama().model;
  const ModelShape three = {.layers = 26,
                            .hidden = 3200,
                            .intermediate = 8640,
                            .heads = 32,
                            .kv_heads = 32,
                            .head_dim = 100,
                            .vocab = 32000};
  const Measured rows[] = {{tiny, Precision::kBf16True, 8, 1, 9.8, 78'085},
                           {tiny, Precision::kBf16Mixed, 8, 1, 18.2, 71'052},
                           {tiny, Precision::k32True, 8, 1, 19.6, 7'402},
                           {three, Precision::kBf16True, 8, 1, 27.5, 23'919},
                           {OpenLlama7b(), Precision::kBf16True, 4, 1, 43.8, 12'910},
                           {tiny, Precision::kBf16True, 8, 4, 9.8, 281'631},
                           {OpenLlama7b(), Precision::kBf16True, 4, 4, 44.1, 43'159}};
  for (const Measured& row : rows) {
    JobSpec job = SmallestJob();
    job.precision = row.precision;
    job.train.micro_batch_size = row.micro;
    job.devices = row.devices;
    const Inspection inspection = FullRows(row.model, 512);
    const auto peak =
        static_cast<double>(EstimateMemory(job, inspection, DeviceKind::kCuda).peak_allocated);
    ExpectWithin(0.02, peak / static_cast<double>(int64_t{1} << 30), row.gib);
    ExpectWithin(0.1, TokensPerSecond(job, inspection), row.tokens_per_second);
  }
}

TEST(EstimateTime, OfAnOptimizerInHostMemoryIsItsArithmeticThere) {
  JobSpec job = Bf16(4, 4);
  job.train.accumulate_grad_batches = 4;
  job.offload_optimizer = true;
  // Three micro steps of 0.36 s and the fourth's forward, then 13e9 parameters at 6e9 a second.
  ExpectWithin(0.05, EstimateTime(job, FullRows(OpenLlama13b(), 512), kH200)->step_seconds,
               3.33 * 0.36 + 13.0 / 6.0);
}

TEST(EstimateTime, GradientsThatAreHeldWholeAreReducedOnceAStep) {
  JobSpec job = Bf16(1, 4);  // 512 positions hide none of the traffic
  job.precision = Precision::kBf16Mixed;
  job.train.accumulate_grad_batches = 16;
  const Inspection inspection = FullRows(OpenLlama7b(), 512);
  const double each = EstimateTime(job, inspection, kH200)->step_seconds;
  const double held = EstimateTime(job, inspection, kH200, /*holds_gradients=*/true)->step_seconds;
  const DeviceRates rates = *RatesOf(kH200);
  const double reduction =
      4 * 6.74e9 * 3 / 4 / rates.collective_bytes + 34 * rates.collective_seconds;
  EXPECT_GE(each - held, 15 * reduction);
  // Reductions are in the arithmetic's way more than gathers are.
  EXPECT_LE(each - held, 1.15 * 15 * reduction);
}

TEST(EstimateTime, CountsWhatEachMethodAddsAndSaves) {
  const Inspection inspection = FullRows(OpenLlama7b(), 512);
  const auto seconds = [&](auto change) {
    JobSpec job = Bf16(8);
    change(job);
    return EstimateTime(job, inspection, kH200)->step_seconds;
  };
  const double plain = seconds([](JobSpec&) {});
  EXPECT_GT(seconds([](JobSpec& job) { job.activation_checkpointing = 1; }), 1.2 * plain);
  EXPECT_GT(seconds([](JobSpec& job) { job.precision = Precision::k32True; }), 8 * plain);
  EXPECT_GT(seconds([](JobSpec& job) { job.engine = EngineKind::kReference; }), plain);
  EXPECT_LT(seconds([](JobSpec& job) { job.lora.emplace(); }), 0.8 * plain);
  EXPECT_LT(seconds([](JobSpec& job) { job.optimizer.name = OptimizerKind::kSgd; }), plain);
  EXPECT_GT(seconds([](JobSpec& job) { job.lora.emplace(), job.quantize = Quantize::kNf4; }),
            seconds([](JobSpec& job) { job.lora.emplace(); }));
}

TEST(EstimateTime, WithFewPositionsShardsWaitForTheirTraffic) {
  // One row on each of four devices: gathering and reducing 7B takes longer than the arithmetic.
  const Inspection inspection = FullRows(OpenLlama7b(), 128);
  const double sharded = EstimateTime(Bf16(1, 4), inspection, kH200)->step_seconds;
  EXPECT_GT(sharded, 3 * 2 * 6.7e9 * 0.75 / 310e9);
}

TEST(EstimateTime, WhereTheModelIsOneUnitItsTrafficIsNotHidden) {
  const Inspection inspection = FullRows(OpenLlama7b(), 512);
  JobSpec job = Bf16(4, 4);
  const double by_block = EstimateTime(job, inspection, kH200)->step_seconds;
  job.fsdp_unit = FsdpUnit::kModel;
  EXPECT_GT(EstimateTime(job, inspection, kH200)->step_seconds, 1.05 * by_block);
}

// Medians of 40 steps on an H200, 2026-11-24, a row of at most 128 tokens each. In bf16-mixed,
// bf16-true and fp32: 9.9, 13.8 and 18.8 ms; with adapters 32, 29 and 49 ms.
TEST(EstimateTime, ASmallModelWaitsForItsHost) {
  const ModelShape small = {.layers = 32,
                            .hidden = 64,
                            .intermediate = 128,
                            .heads = 4,
                            .kv_heads = 2,
                            .head_dim = 16,
                            .vocab = 512,
                            .tied_head = true};
  JobSpec job = Bf16(1);
  const Inspection inspection = FullRows(small, 128);
  ExpectWithin(0.3, EstimateTime(job, inspection, kH200)->step_seconds, 0.0138);
  job.lora = LoraSpec{.r = 8};
  ExpectWithin(0.3, EstimateTime(job, inspection, kH200)->step_seconds, 0.032);
}

TEST(EstimateTime, OfTheRunCountsStepsEvaluationsAndTheStart) {
  JobSpec job = Bf16(8);
  Inspection inspection = FullRows(TinyLlama().model, 512);
  inspection.rows = 1000;
  const TimeEstimate plain = *EstimateTime(job, inspection, kH200);
  EXPECT_DOUBLE_EQ(plain.training_seconds, 125 * plain.step_seconds + kFirstStep);
  EXPECT_GT(plain.total_seconds, plain.training_seconds + 10);
  job.train.max_steps = 10;
  EXPECT_DOUBLE_EQ(EstimateTime(job, inspection, kH200)->training_seconds,
                   10 * plain.step_seconds + kFirstStep);
  job.data.val_split_fraction = 0.5;
  const double once = EstimateTime(job, inspection, kH200)->total_seconds;
  job.eval.every_steps = 2;
  const double often = EstimateTime(job, inspection, kH200)->total_seconds;
  EXPECT_NEAR(EstimateTime(job, inspection, kH200)->evaluation_seconds,
              5 * 500 * plain.step_seconds / 8 / 3, 1e-9);
  EXPECT_EQ(plain.evaluation_seconds, 0);
  // 4 more evaluations of 500 rows, each a third of their training.
  EXPECT_NEAR(often - once, 4 * 500 * plain.step_seconds / 8 / 3, 1e-9);
}

TEST(EstimateTime, OfAResumedRunCountsWhatRemains) {
  JobSpec job = Bf16(8);
  job.data.val_split_fraction = 0.5;
  job.eval.every_steps = 10;
  Inspection inspection = FullRows(TinyLlama().model, 512);
  inspection.rows = 800;  // 50 steps, 5 evaluations
  const TimeEstimate whole = *EstimateTime(job, inspection, kH200);
  const double evaluation = 400 * whole.step_seconds / 8 / 3;
  inspection.resume_step = 20;
  const TimeEstimate rest = *EstimateTime(job, inspection, kH200);
  EXPECT_DOUBLE_EQ(rest.training_seconds, 30 * whole.step_seconds + kFirstStep);
  EXPECT_NEAR(whole.total_seconds - rest.total_seconds, 20 * whole.step_seconds + 2 * evaluation,
              1e-9);
  const EarlierRuns earlier{.device_name = kH200, .step_seconds = 0.5, .runs = 1};
  EXPECT_DOUBLE_EQ(EstimateTimeFromRuns(job, inspection, earlier)->training_seconds,
                   15 + kFirstStep);
  inspection.resume_step = 60;
  EXPECT_EQ(EstimateTime(job, inspection, kH200)->training_seconds, 0);
}

TEST(CountStart, TakesWhatEarlierRunsTookInPlaceOfTheModel) {
  TimeEstimate estimate = *EstimateTime(Bf16(8), FullRows(TinyLlama().model, 512), kH200);
  const double after_start =
      estimate.total_seconds - estimate.start_seconds - estimate.load_seconds;
  EXPECT_THAT(TimeText(estimate), HasSubstr("; 11 s until its first step, assumed"));
  CountStart({kH200, 3, 9, 2}, &estimate);
  EXPECT_DOUBLE_EQ(estimate.total_seconds, after_start + 12);
  EXPECT_EQ(estimate.load_seconds, 9);
  EXPECT_THAT(TimeText(estimate), HasSubstr("; 12 s until its first step, as in 2 earlier runs"));
}

TEST(CountStart, OfOtherModelsTakesTheStartAlone) {
  TimeEstimate estimate = *EstimateTime(Bf16(8), FullRows(TinyLlama().model, 512), kH200);
  const double load = estimate.load_seconds;
  CountStart({kH200, 1, 90, 3, StartSource::kOtherModels}, &estimate);
  EXPECT_EQ(estimate.start_seconds, 1);
  EXPECT_EQ(estimate.load_seconds, load) << "another model loads for as long as it is large";
  EXPECT_THAT(TimeText(estimate), HasSubstr("as in 3 earlier runs of other models"));
}

// What a shape that never ran is predicted to take until its first step.
double UntilFirstStep(const std::vector<EarlierStarts>& starts, std::string_view device) {
  const TimeEstimate time =
      *PredictTime(Bf16(8), FullRows(TinyLlama().model, 512), device, false, {.starts = starts});
  return time.start_seconds + time.load_seconds;
}

TEST(PredictTime, StartsAsTheNearestRunsOnTheKindOfDevice) {
  const char *slot = "CPU slot (2 threads)", *wide = "CPU slot (4 threads)";
  const EarlierStarts other{slot, 1, 5, 2, StartSource::kOtherModels};
  const EarlierStarts model{wide, 2, 1, 2, StartSource::kModel};
  const double load = UntilFirstStep({}, slot) - 10;
  EXPECT_DOUBLE_EQ(UntilFirstStep({other}, slot), 1 + load);
  EXPECT_DOUBLE_EQ(UntilFirstStep({other}, wide), 1 + load) << "a process starts alike there";
  EXPECT_DOUBLE_EQ(UntilFirstStep({other, model}, slot), 3);
  EXPECT_DOUBLE_EQ(UntilFirstStep({model, {slot, 4, 1, 2, StartSource::kModel}}, slot), 5);
  EXPECT_GT(UntilFirstStep({other, model}, kH200), 10) << "no GPU starts as a CPU slot does";
}

TEST(StartKey, IsEqualForRunsThatLoadAlike) {
  const Inspection inspection = FullRows(TinyLlama().model, 512);
  const std::string key = StartKey(Bf16(8), inspection);
  const auto changed = [&](auto change) {
    JobSpec job = Bf16(8);
    change(job);
    return StartKey(job, inspection);
  };
  EXPECT_EQ(changed([](JobSpec& job) {
              job.train.micro_batch_size = 2, job.train.max_steps = 7, job.data.path = "/other";
              job.precision = Precision::k32True, job.activation_checkpointing = 1;
            }),
            key);
  EXPECT_EQ(StartKey(Bf16(8), FullRows(TinyLlama().model, 64)), key);
  EXPECT_NE(StartKey(Bf16(8), FullRows(OpenLlama7b(), 512)), key);
  EXPECT_NE(changed([](JobSpec& job) { job.model.init = ModelInit::kRandom; }), key);
  EXPECT_NE(changed([](JobSpec& job) { job.devices = 2; }), key);
  EXPECT_NE(changed([](JobSpec& job) { job.checkpoint.resume_from = "/out"; }), key);
}

TEST(EstimateTime, ShortRowsTakeLess) {
  Inspection inspection = FullRows(TinyLlama().model, 512);
  const double full = EstimateTime(Bf16(8), inspection, kH200)->step_seconds;
  inspection.total_tokens /= 4;
  EXPECT_LT(EstimateTime(Bf16(8), inspection, kH200)->step_seconds, 0.9 * full);
}

TEST(EstimateTime, PackedRowsTakeFewerStepsOfFullSequences) {
  Inspection inspection = FullRows(TinyLlama().model, 512);
  inspection.total_tokens /= 8;
  inspection.packed_sequences = inspection.rows / 8;
  inspection.longest_sequence = 512;
  JobSpec job = Bf16(8);
  job.train.epochs = 1;
  const TimeEstimate padded = *EstimateTime(job, inspection, kH200);
  job.train.packing = true;
  const TimeEstimate packed = *EstimateTime(job, inspection, kH200);
  EXPECT_GT(packed.step_seconds, padded.step_seconds);
  EXPECT_LT(packed.training_seconds, 0.5 * padded.training_seconds);
  // Rows of a sequence do not see each other.
  const Inspection full = FullRows(TinyLlama().model, 512);
  EXPECT_LT(packed.step_seconds, EstimateTime(Bf16(8), full, kH200)->step_seconds);
}

TEST(EstimateTime, RowsOfSimilarLengthTogetherTakeLess) {
  Inspection inspection = FullRows(TinyLlama().model, 512);
  inspection.total_tokens /= 4;
  JobSpec job = Bf16(8);
  const double mixed = EstimateTime(job, inspection, kH200)->step_seconds;
  job.train.group_by_length = true;
  EXPECT_LT(EstimateTime(job, inspection, kH200)->step_seconds, 0.8 * mixed);
  inspection.total_tokens /= inspection.rows;
  inspection.rows = 8;
  inspection.total_tokens *= inspection.rows;
  EXPECT_EQ(EstimateTime(job, inspection, kH200)->step_seconds, mixed)
      << "one batch is all there is";
}

TEST(EstimateTime, NothingIsSaidOfDevicesWithoutRatesOrDataWithoutAStep) {
  EXPECT_FALSE(EstimateTime(Bf16(8), FullRows(TinyLlama().model, 512), "Abacus").has_value());
  EXPECT_FALSE(EstimateTime(Bf16(8192), FullRows(TinyLlama().model, 512), kH200).has_value());
}

TEST(EstimateTimeFromRuns, TakesTheirStepAsItIs) {
  const EarlierRuns earlier{.device_name = kH200, .step_seconds = 0.5, .runs = 3};
  const TimeEstimate estimate =
      *EstimateTimeFromRuns(Bf16(8), FullRows(TinyLlama().model, 512), earlier);
  EXPECT_EQ(estimate.step_seconds, 0.5);
  EXPECT_EQ(estimate.training_seconds, 0.5 * 512 + kFirstStep);
  EXPECT_THAT(
      TimeText(estimate),
      HasSubstr("4 min 16 s of it training (0.5 s a step), predicted from 3 earlier runs on "
                "NVIDIA H200"));
  EarlierRuns slowed = earlier;
  slowed.disturbed = true;
  EXPECT_THAT(TimeText(*EstimateTimeFromRuns(Bf16(8), FullRows(TinyLlama().model, 512), slowed)),
              HasSubstr("from 3 earlier runs on NVIDIA H200, whose host others used too"));
  EXPECT_THAT(
      TimeText({.step_seconds = 1230, .training_seconds = 2.4, .total_seconds = 12}),
      HasSubstr("12 s, 2.4 s of it training (20 min 30 s a step), predicted from the rates"));
}

TEST(TimeText, ItsPartsAddUp) {
  const TimeEstimate estimate{.step_seconds = 2,
                              .training_seconds = 36'300,
                              .evaluation_seconds = 24'420,
                              .total_seconds = 60'780,
                              .device_name = "D",
                              .start_seconds = 40,
                              .load_seconds = 20};
  EXPECT_EQ(TimeText(estimate),
            "16 h 53 min, 10 h 5 min of it training (2 s a step), 6 h 47 min evaluation, predicted "
            "from the rates of D; 1 min until its first step, assumed");
}

TEST(TimeText, WhatThePartsDoNotTellIsNoEvaluation) {
  EXPECT_EQ(TimeText({.step_seconds = 0.05,
                      .training_seconds = 0.1,
                      .total_seconds = 2.7,
                      .earlier_runs = 1,
                      .device_name = "D",
                      .start_seconds = 0.5,
                      .load_seconds = 0.05,
                      .start_runs = 1}),
            "3 s, 0.1 s of it training (0.05 s a step), predicted from 1 earlier run on D; "
            "0.55 s until its first step, as in 1 earlier run");
}

TEST(RatesOf, AreFoundByTheDevicesName) {
  EXPECT_GT(RatesOf("NVIDIA H200")->memory_bytes, RatesOf("NVIDIA H100 80GB HBM3")->memory_bytes);
  EXPECT_GT(RatesOf("NVIDIA H100 80GB HBM3")->bf16_flops,
            RatesOf("NVIDIA A100-SXM4-80GB")->bf16_flops);
  EXPECT_EQ(RatesOf("CPU slot (4 threads)")->fp32_flops,
            4 * RatesOf("CPU slot (1 thread)")->fp32_flops);
  for (const char* name : {"", "CPU slot", "CPU slot (x)", "CPU slot (0 threads)"})
    EXPECT_FALSE(RatesOf(name).has_value()) << name;
}

TEST(ShapeKey, AWindowCountsWhereRowsReachBeyondIt) {
  const auto key = [](int64_t window, std::vector<int64_t> full = {}) {
    Inspection inspection = FullRows(TinyLlama().model, 512);
    inspection.model.sliding_window = window;
    inspection.model.full_layers = std::move(full);
    return ShapeKey(Bf16(8), inspection);
  };
  EXPECT_EQ(key(512), key(0));
  EXPECT_NE(key(511), key(0));
  EXPECT_NE(key(511), key(64));
  EXPECT_NE(key(511), key(511, {0}));
}

TEST(ShapeKey, IsEqualForRunsOfTheSameShapeOnly) {
  const Inspection inspection = FullRows(TinyLlama().model, 512);
  const std::string key = ShapeKey(Bf16(8), inspection);
  const auto changed = [&](auto change) {
    JobSpec job = Bf16(8);
    change(job);
    return ShapeKey(job, inspection);
  };
  EXPECT_EQ(changed([](JobSpec& job) {
              job.name = "other", job.seed = 1, job.optimizer.lr = 1, job.train.epochs = 9;
            }),
            key);
  EXPECT_EQ(changed([](JobSpec& job) { job.strategy = StrategyKind::kSingle; }), key)
      << "auto is single on one device";
  EXPECT_NE(changed([](JobSpec& job) { job.train.micro_batch_size = 4; }), key);
  EXPECT_NE(changed([](JobSpec& job) { job.train.accumulate_grad_batches = 2; }), key);
  EXPECT_NE(changed([](JobSpec& job) { job.lora.emplace(); }), key);
  EXPECT_NE(changed([](JobSpec& job) { job.data.format = DataFormat::kText; }), key);
  EXPECT_NE(changed([](JobSpec& job) { job.data.columns = {{"output", "answer"}}; }), key);
  EXPECT_NE(changed([](JobSpec& job) { job.data.chat_template = ChatTemplate::kQwen; }), key);
  EXPECT_NE(changed([](JobSpec& job) { job.train.group_by_length = true; }), key);
  EXPECT_NE(changed([](JobSpec& job) { job.train.packing = true; }), key);
  EXPECT_NE(changed([](JobSpec& job) { job.precision = Precision::kBf16Mixed; }), key);
  EXPECT_NE(ShapeKey(Bf16(8), FullRows(OpenLlama7b(), 512)), key);
  JobSpec limited = Bf16(8, 4);
  limited.train.accumulate_grad_batches = 2;
  const std::string unlimited = ShapeKey(limited, inspection);
  limited.resources.gpu_memory_limit_bytes = 8 << 20;
  EXPECT_NE(ShapeKey(limited, inspection), unlimited) << "it may forbid to hold whole gradients";
  EXPECT_NE(ShapeKey(Bf16(8), FullRows(TinyLlama().model, 256)), key);
}

TEST(PredictionJson, IsReadBackAndIsAMemoryEstimateToo) {
  const Inspection inspection = FullRows(TinyLlama().model, 512);
  Prediction prediction = {.memory = EstimateMemory(Bf16(8), inspection, DeviceKind::kCuda),
                           .time = EstimateTime(Bf16(8), inspection, kH200)};
  const std::string text = ToJson(prediction);
  EXPECT_EQ(ToJson(*PredictionFromJson(text)), text);
  EXPECT_EQ(MemoryEstimateFromJson(text)->peak_allocated, prediction.memory.peak_allocated);
  prediction.time->start_source = StartSource::kModel;
  prediction.time->disturbed = prediction.time->one_step = true;
  EXPECT_EQ(PredictionFromJson(ToJson(prediction))->time->start_source, StartSource::kModel);
  EXPECT_TRUE(PredictionFromJson(ToJson(prediction))->time->disturbed);
  EXPECT_TRUE(PredictionFromJson(ToJson(prediction))->time->one_step);
  prediction.time.reset();
  EXPECT_FALSE(PredictionFromJson(ToJson(prediction))->time.has_value());
  EXPECT_TRUE(PredictionFromJson(ToJson(prediction.memory)).ok())
      << "as earlier versions stored it";
  EXPECT_FALSE(PredictionFromJson("{}").ok());
}

}  // namespace
}  // namespace trainctl::job
