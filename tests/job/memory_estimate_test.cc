// Numbers are worked out by hand from the formulas of the header.
#include "common/estimate/memory_estimate.h"

#include <gtest/gtest.h>

#include "tests/job/memory_of.h"
#include "tests/job/tiny_llama.h"

namespace trainctl::job {
namespace {

using namespace tiny_llama;

TEST(EstimateMemory, Fp32IsFourBytesAParameterAndEightOfAdamW) {
  const MemoryByKind memory = AtPhase(Estimated(JobOfEight()), Phase::kBeforeForward);
  EXPECT_EQ(memory.params, 4'400'193'536);
  EXPECT_EQ(memory.optimizer, 8'800'387'072);
  EXPECT_EQ(memory.grads, 0);
  EXPECT_EQ(memory.other, kBeside);
  EXPECT_EQ(memory.allocated, 13'200'580'608 + kBeside);
}

TEST(EstimateMemory, Bf16TrueIsHalfOfEverything) {
  JobSpec job = JobOfEight();
  job.precision = Precision::kBf16True;
  const MemoryByKind memory = AtPhase(Estimated(job), Phase::kBeforeForward);
  EXPECT_EQ(memory.params, 2 * kAll);
  EXPECT_EQ(memory.optimizer, 4 * kAll);
}

TEST(EstimateMemory, MixedKeepsAnFp32MasterAndABf16Copy) {
  JobSpec job = JobOfEight();
  job.precision = Precision::kBf16Mixed;
  const MemoryByKind memory = AtPhase(Estimated(job), Phase::kBeforeForward);
  EXPECT_EQ(memory.params, 6 * kAll);
  EXPECT_EQ(memory.optimizer, 8 * kAll);
}

TEST(EstimateMemory, SgdKeepsOneStateWithMomentumAndNoneWithout) {
  JobSpec job = JobOfEight();
  job.optimizer.name = OptimizerKind::kSgd;
  EXPECT_EQ(AtPhase(Estimated(job), Phase::kBeforeForward).optimizer, 0);
  job.optimizer.momentum = 0.9;
  EXPECT_EQ(AtPhase(Estimated(job), Phase::kBeforeForward).optimizer, 4 * kAll);
}

TEST(EstimateMemory, ActivationsAreWhatTheBackwardNeeds) {
  EXPECT_EQ(AtPhase(Estimated(JobOfEight()), Phase::kAfterForward).other, kActivations);
  EXPECT_EQ(AtPhase(Estimated(JobOfEight()), Phase::kAfterBackward).other, kBeside);
}

TEST(EstimateMemory, ThePeakOnOneDeviceIsTheHeadWithItsOwnGradientOnly) {
  const int64_t head_work = 2 * kPositions * 8192 + 2048 * 4 * 32000;
  EXPECT_EQ(Estimated(JobOfEight()).peak_allocated,
            12 * kAll + kActivations + head_work + 4 * kHead);
}

TEST(EstimateMemory, UnderDdpTheUnitBeingReducedIsAliveToo) {
  JobSpec job = JobOfEight();
  job.devices = 2;
  // The last block's backward, while the head's gradient is all-reduced: 4 F + H of fp32 a
  // position.
  const int64_t block_work = kPositions * 4 * (4 * 5632 + 2048);
  EXPECT_EQ(Estimated(job).peak_allocated,
            12 * kAll + kActivations + block_work + 4 * (kBlock + kHead));
  EXPECT_EQ(AtPhase(Estimated(job), Phase::kAfterBackward).grads, 4 * kEmbedding);
}

TEST(EstimateMemory, AccumulationHoldsAllGradients) {
  JobSpec job = JobOfEight();
  const int64_t leased = Estimated(job).peak_allocated;
  job.train.accumulate_grad_batches = 4;
  EXPECT_EQ(AtPhase(Estimated(job), Phase::kAfterBackward).grads, 0);
  // All gradients instead of the head's, at the last block, whose work is larger than the head's.
  const int64_t block_work = kPositions * 4 * (4 * 5632 + 2048),
                head_work = 2 * kPositions * 8192 + 2048 * 4 * 32000;
  EXPECT_EQ(Estimated(job).peak_allocated, leased - 4 * kHead - head_work + 4 * kAll + block_work);
}

TEST(EstimateMemory, ClippingHoldsAllGradientsToTheEndOfTheStep) {
  JobSpec job = JobOfEight();
  job.train.max_norm = 1;
  EXPECT_EQ(AtPhase(Estimated(job), Phase::kAfterBackward).grads, 4 * kAll);
  EXPECT_EQ(AtPhase(Estimated(job), Phase::kAfterOptimizerStep).grads, 0);
}

TEST(EstimateMemory, ATiedHeadIsCountedOnceAndItsGradientLivesThroughTheBackward) {
  Inspection inspection = TinyLlama();
  inspection.model.tied_head = true;
  const MemoryEstimate estimate = Estimated(JobOfEight(), inspection);
  const int64_t all = kAll - kEmbedding;
  EXPECT_EQ(AtPhase(estimate, Phase::kBeforeForward).params, 4 * all);
  const int64_t block_work = kPositions * 4 * (4 * 5632 + 2048);
  EXPECT_EQ(estimate.peak_allocated,
            12 * all + kActivations + block_work + 4 * (kBlock + kEmbedding));
}

TEST(EstimateMemory, TheReferenceNeedsMoreThanTheFusedEngine) {
  JobSpec job = JobOfEight();
  job.precision = Precision::kBf16True;
  const int64_t fused = Estimated(job).peak_allocated;
  job.engine = EngineKind::kReference;
  EXPECT_GT(Estimated(job).peak_allocated, fused);
}

TEST(EstimateMemory, CpuSlotsRunTheReference) {
  JobSpec job = JobOfEight();
  const int64_t cpu = Estimated(job, TinyLlama(), DeviceKind::kCpu).peak_allocated;
  job.engine = EngineKind::kReference;
  EXPECT_EQ(cpu + kWorkspace, Estimated(job).peak_allocated);
}

TEST(EstimateMemory, Bf16OnACpuMultipliesFp32Copies) {
  JobSpec job = JobOfEight();
  job.precision = Precision::kBf16True;
  job.engine = EngineKind::kReference;
  job.train.micro_batch_size = 1;
  Inspection inspection = TinyLlama();
  inspection.longest_row = 64;  // so few positions that matrices count more than activations
  EXPECT_GT(Estimated(job, inspection, DeviceKind::kCpu).peak_allocated,
            Estimated(job, inspection).peak_allocated);
}

TEST(EstimateMemory, RotaryTablesAreAsLongAsTheLongestRowAllowed) {
  JobSpec job = JobOfEight();
  const int64_t plain = Estimated(job).peak_allocated;
  job.train.max_seq_length = 100'000;  // the longest row stays 512
  EXPECT_EQ(Estimated(job).peak_allocated - plain, (100'032 - 512) * 64 * 4);
}

TEST(EstimateMemory, ARowBeyondThePositionsOfDynamicRotationHasTablesOfItsOwn) {
  Inspection inspection = TinyLlama();
  inspection.model.rope_scaling = RopeScaling{.type = RopeType::kDynamic, .factor = 2};
  inspection.model.max_positions = 512;
  const int64_t within = Estimated(JobOfEight(), inspection).peak_allocated;
  inspection.model.max_positions = 511;
  EXPECT_EQ(Estimated(JobOfEight(), inspection).peak_allocated - within, 512 * 64 * 4);
}

// Few heads and a narrow FFN: a block's peak is in its attention.
TEST(EstimateMemory, OnACpuSlotAWindowTakesAPiecesMask) {
  constexpr int64_t kLength = 4096;
  JobSpec job = JobOfEight();
  job.train.micro_batch_size = 1;
  job.train.max_seq_length = kLength;
  Inspection inspection = TinyLlama();
  inspection.longest_row = kLength;
  ModelShape& model = inspection.model;
  model.vocab = 32;
  model.intermediate = model.hidden = 64;
  model.head_dim = 256;
  model.heads = model.kv_heads = 1;
  const auto peak = [&](int64_t window, DeviceKind device) {
    model.sliding_window = window;
    return Estimated(job, inspection, device).peak_allocated;
  };
  EXPECT_EQ(peak(kLength, DeviceKind::kCpu), peak(0, DeviceKind::kCpu));
  const int64_t more = peak(kLength - 1, DeviceKind::kCpu) - peak(0, DeviceKind::kCpu);
  EXPECT_GT(more, 0);
  EXPECT_LT(more, kLength * kLength) << "not a number for each pair of positions";
  EXPECT_EQ(peak(kLength - 1, DeviceKind::kCuda), peak(0, DeviceKind::kCuda));
}

TEST(EstimateMemory, OnACpuSlotAGradientIsMeasuredPieceByPiece) {
  // One short row and a large tied embedding: its gradient is there twice while it is made.
  constexpr int64_t kVocab = 131'072, kTable = kVocab * 2048, kLength = 56;
  Inspection inspection = TinyLlama();
  inspection.longest_row = 50;
  inspection.model.vocab = kVocab;
  inspection.model.tied_head = true;
  JobSpec job = JobOfEight();
  job.train.micro_batch_size = 1;
  const int64_t all = 22 * kBlock + kTable + 2048;
  EXPECT_EQ(Estimated(job, inspection, DeviceKind::kCpu).peak_allocated,
            12 * all + 2 * 4 * kTable + kLength * (8192 + 2 * 8) + 512 * 64 * 4);
}

TEST(EstimateMemory, TheLengthIsTheLongestRowsPadded) {
  Inspection inspection = TinyLlama();
  const auto length = [&](int64_t longest, int64_t most) {
    JobSpec job = JobOfEight();
    job.train.max_seq_length = most;
    inspection.longest_row = longest;
    return Estimated(job, inspection).sequence_length;
  };
  EXPECT_EQ(length(300, 512), 320);
  EXPECT_EQ(length(512, 512), 512);
  EXPECT_EQ(length(900, 512), 512);
  EXPECT_EQ(length(900, 100), 100);  // padding ends there
  EXPECT_EQ(length(0, 512), 512);
  inspection.sampled_rows = 100;  // the other rows may be longer
  EXPECT_EQ(length(300, 512), 512);
}

// They have no backward: what they take is at most what a step of such rows would.
TEST(EstimateMemory, LongerValidationRowsCountAsAForward) {
  const auto peak = [](int64_t trains, int64_t validates, DeviceKind device) {
    Inspection inspection = TinyLlama();
    inspection.longest_row = trains;
    inspection.longest_validation_row = validates;
    return Estimated(JobOfEight(), inspection, device).peak_allocated;
  };
  for (const DeviceKind device : {DeviceKind::kCuda, DeviceKind::kCpu}) {
    EXPECT_EQ(peak(64, 64, device), peak(64, 0, device));
    EXPECT_EQ(peak(512, 64, device), peak(512, 0, device));
    EXPECT_GE(peak(64, 512, device), peak(64, 0, device));
    EXPECT_LT(peak(64, 512, device), peak(512, 0, device));
  }
}

TEST(EstimateMemory, EveryPhaseTellsThePeakAndItsSum) {
  const MemoryEstimate estimate = Estimated(JobOfEight());
  for (const MemoryByKind& phase : estimate.phases) {
    EXPECT_EQ(phase.allocated, phase.params + phase.grads + phase.optimizer + phase.other);
    EXPECT_EQ(phase.peak_allocated, estimate.peak_allocated);
    EXPECT_EQ(phase.reserved, estimate.peak_allocated);
  }
}

TEST(EstimateMemory, OneSettingMoreNeverNeedsLess) {
  const int64_t plain = Estimated(JobOfEight()).peak_allocated;
  const auto with = [](auto change) {
    JobSpec job = JobOfEight();
    change(job);
    return Estimated(job).peak_allocated;
  };
  EXPECT_GT(with([](JobSpec& job) { job.train.micro_batch_size = 16; }), plain);
  EXPECT_GT(with([](JobSpec& job) { job.train.max_norm = 1; }), plain);
  EXPECT_GT(with([](JobSpec& job) { job.train.accumulate_grad_batches = 2; }), plain);
  EXPECT_GT(with([](JobSpec& job) { job.devices = 2; }), plain);
  EXPECT_GE(with([](JobSpec& job) { job.deterministic = true; }), plain);
  EXPECT_LT(with([](JobSpec& job) { job.train.max_seq_length = 256; }), plain);
}

}  // namespace
}  // namespace trainctl::job
