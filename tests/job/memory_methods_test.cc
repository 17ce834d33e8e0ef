// The memory of sharding, offload, checkpointing, LoRA, 4-bit weights and 8-bit states, worked out
// by hand for TinyLlama in 32-true.
#include <gtest/gtest.h>

#include "common/estimate/lora_targets.h"
#include "common/estimate/memory_estimate.h"
#include "tests/job/memory_of.h"
#include "tests/job/tiny_llama.h"

namespace trainctl::job {
namespace {

using namespace tiny_llama;

constexpr int64_t kBlockWork = kPositions * 4 * (4 * 5632 + 2048);

// A of each target is [32, in], B [out, 32].
constexpr int64_t kBlockAdapters = 32 * (2 * (2048 + 2048) + 2 * (2048 + 256) + 3 * (2048 + 5632));
constexpr int64_t kHeadAdapters = 32 * (2048 + 32000);
constexpr int64_t kAdapters = 22 * kBlockAdapters + kHeadAdapters;

JobSpec Sharded(int64_t devices) {
  JobSpec job = JobOfEight();
  job.devices = devices;
  job.strategy = StrategyKind::kFsdp;
  return job;
}

JobSpec Lora() {
  JobSpec job = JobOfEight();
  job.lora.emplace();
  return job;
}

TEST(FsdpMemory, EachRankHoldsItsShardOfMastersCopiesAndMoments) {
  // Every unit is a multiple of 4 × 256 elements, so nothing is lost to padding.
  const MemoryByKind held = AtPhase(Estimated(Sharded(4)), Phase::kBeforeForward);
  EXPECT_EQ(held.params, kAll + 4 * kEmbedding) << "the embedding is fetched ahead";
  EXPECT_EQ(held.optimizer, 2 * kAll);
  JobSpec mixed = Sharded(4);
  mixed.precision = Precision::kBf16Mixed;
  EXPECT_EQ(AtPhase(Estimated(mixed), Phase::kAfterBackward).params, 6 * kAll / 4);
}

TEST(FsdpMemory, UnitsArePaddedToAMultipleOfTheRanks) {
  Inspection inspection = TinyLlama();
  inspection.model = {.layers = 1,
                      .hidden = 16,
                      .intermediate = 16,
                      .heads = 1,
                      .kv_heads = 1,
                      .head_dim = 16,
                      .vocab = 16};
  // Tensors of 256 elements, norms padded to as many: embedding 1, block 9, head 2; over 4 ranks 1,
  // 3 and 1 of 256 each.
  EXPECT_EQ(AtPhase(Estimated(Sharded(4), inspection), Phase::kAfterBackward).params,
            4 * 256 * (1 + 3 + 1));
}

TEST(FsdpMemory, AtItsPeakTwoUnitsAreGatheredAndTwoHaveGradients) {
  // In the last block: gathered itself and the one before it; its gradient, the head's being
  // reduced and the head's shard.
  const int64_t gathered = 4 * 2 * kBlock, grads = 4 * (kBlock + kHead + kHead / 4);
  EXPECT_EQ(Estimated(Sharded(4)).peak_allocated,
            3 * kAll + kActivations + kBlockWork + gathered + grads);
}

TEST(FsdpMemory, AccumulationAndClippingHoldShardsOfAllGradients) {
  const int64_t plain = Estimated(Sharded(4)).peak_allocated;
  JobSpec accumulates = Sharded(4), clips = Sharded(4);
  accumulates.train.accumulate_grad_batches = 2;
  clips.train.max_norm = 1;
  EXPECT_EQ(Estimated(accumulates).peak_allocated, plain + kAll);
  EXPECT_EQ(Estimated(clips).peak_allocated, plain)
      << "at the peak, in the last block, the head's shard is there anyway, and no other";
  EXPECT_EQ(AtPhase(Estimated(clips), Phase::kAfterBackward).grads, kAll + 4 * kEmbedding)
      << "the embedding's is being reduced";
}

// Whole weights of all units are there in all micro steps but the last. There each goes as its
// backward ends. Shards of all gradients are there in all but the first.
TEST(FsdpMemory, OfTwoMicroStepsUnderGradOpNeitherHoldsAllWeightsAndAllShards) {
  JobSpec two = Sharded(4);
  two.sharding = Sharding::kGradOp;
  two.train.accumulate_grad_batches = 2;
  JobSpec three = two;
  three.train.accumulate_grad_batches = 3;
  EXPECT_LT(Estimated(two).peak_allocated, Estimated(three).peak_allocated);
  three.sharding = two.sharding = Sharding::kFull;
  EXPECT_EQ(Estimated(two).peak_allocated, Estimated(three).peak_allocated);
}

TEST(FsdpMemory, GradientsHeldWholeAreThoseOfAllUnitsAndNoShardButTheOneThatArrives) {
  JobSpec job = Sharded(4);
  job.train.accumulate_grad_batches = 2;
  const MemoryEstimate held =
      EstimateMemory(job, TinyLlama(), DeviceKind::kCuda, /*holds_gradients=*/true);
  const int64_t gathered = 4 * 2 * kBlock, grads = 4 * (kAll + kHead / 4);
  EXPECT_EQ(held.peak_allocated, 3 * kAll + kActivations + kBlockWork + gathered + grads);
  EXPECT_EQ(held.holds_gradients, true);
  EXPECT_EQ(AtPhase(held, Phase::kAfterBackward).grads, 5 * kEmbedding)
      << "the embedding's is being reduced";
}

TEST(FsdpMemory, OfTheModelAsOneUnitGradientsHeldWholeAreAllThatThereAre) {
  JobSpec job = Sharded(4);
  job.fsdp_unit = FsdpUnit::kModel;
  job.train.accumulate_grad_batches = 2;
  const MemoryEstimate held =
      EstimateMemory(job, TinyLlama(), DeviceKind::kCuda, /*holds_gradients=*/true);
  EXPECT_EQ(held.peak_allocated, 3 * kAll + kActivations + kBlockWork + 4 * kAll + 4 * kAll);
  EXPECT_EQ(AtPhase(held, Phase::kAfterBackward).grads, 4 * kAll);
}

TEST(FsdpMemory, GradOpKeepsAUnitsWeightsToItsBackward) {
  JobSpec job = Sharded(4);
  const int64_t full = Estimated(job).peak_allocated;
  job.sharding = Sharding::kGradOp;
  EXPECT_EQ(Estimated(job).peak_allocated, full + 4 * (kAll - kHead) - 4 * 2 * kBlock);
  EXPECT_EQ(AtPhase(Estimated(job), Phase::kAfterForward).params, kAll + 4 * kAll);
  EXPECT_EQ(AtPhase(Estimated(job), Phase::kAfterBackward).params, kAll);
}

TEST(FsdpMemory, TheModelAsOneUnitHasAllWeightsWholeAndReducesNoGradientBeforeTheEnd) {
  JobSpec job = Sharded(4);
  job.fsdp_unit = FsdpUnit::kModel;
  EXPECT_EQ(Estimated(job).peak_allocated,
            3 * kAll + kActivations + kBlockWork + 4 * kAll + 4 * (kBlock + kHead));
  EXPECT_EQ(AtPhase(Estimated(job), Phase::kAfterBackward).grads, 4 * kAll);
  EXPECT_EQ(AtPhase(Estimated(job), Phase::kAfterBackward).params, kAll + 4 * kAll);
}

TEST(FsdpMemory, OnOneDeviceNothingIsSharded) {
  JobSpec job = Sharded(1);
  const int64_t sharded = Estimated(job).peak_allocated;
  job.strategy = StrategyKind::kSingle;
  EXPECT_EQ(sharded, Estimated(job).peak_allocated);
}

TEST(FsdpMemory, MoreDevicesNeedLess) {
  EXPECT_LT(Estimated(Sharded(4)).peak_allocated, Estimated(Sharded(2)).peak_allocated);
  JobSpec ddp = JobOfEight();
  ddp.devices = 4;
  EXPECT_LT(Estimated(Sharded(4)).peak_allocated, Estimated(ddp).peak_allocated);
}

TEST(OffloadMemory, MastersAndMomentsAreInHostMemory) {
  JobSpec job = JobOfEight();
  job.precision = Precision::kBf16Mixed;
  job.offload_optimizer = true;
  const MemoryByKind held = AtPhase(Estimated(job), Phase::kBeforeForward);
  EXPECT_EQ(held.params, 2 * kAll);
  EXPECT_EQ(held.optimizer, 0);
  EXPECT_EQ(held.optimizer_cpu, 12 * kAll);
  EXPECT_EQ(held.allocated, 2 * kAll + kBeside);
}

TEST(OffloadMemory, UnderFsdpEachRankHasItsShardOfThem) {
  JobSpec job = Sharded(4);
  job.precision = Precision::kBf16True;
  job.offload_optimizer = true;
  EXPECT_EQ(AtPhase(Estimated(job), Phase::kBeforeForward).optimizer_cpu, 3 * kAll);
}

TEST(OffloadMemory, AUnitsGradientLivesUntilItIsCopied) {
  JobSpec job = JobOfEight();
  job.offload_optimizer = true;
  EXPECT_EQ(Estimated(job).peak_allocated,
            4 * kAll + kActivations + kBlockWork + 4 * (kBlock + kHead));
}

TEST(OffloadMemory, OnACpuSlotItIsTheSameMemory) {
  JobSpec job = JobOfEight();
  job.offload_optimizer = true;
  const MemoryByKind held =
      AtPhase(Estimated(job, TinyLlama(), DeviceKind::kCpu), Phase::kBeforeForward);
  EXPECT_EQ(held.allocated, 4 * kAll + 12 * kAll + kBeside - kWorkspace);
}

TEST(CheckpointingMemory, ACheckpointedBlockSavesItsInputOnly) {
  JobSpec job = JobOfEight();
  job.activation_checkpointing = 1;
  EXPECT_EQ(AtPhase(Estimated(job), Phase::kAfterForward).other, 22 * kHidden + kHidden + kBeside);
}

TEST(CheckpointingMemory, OfEveryThirdBlockEightOfTwentyTwoAre) {
  JobSpec job = JobOfEight();
  job.activation_checkpointing = 3;
  EXPECT_EQ(AtPhase(Estimated(job), Phase::kAfterForward).other,
            8 * kHidden + 14 * kBlockActivations + kHidden + kBeside);
}

TEST(CheckpointingMemory, InItsBackwardABlocksActivationsExistAgain) {
  JobSpec job = JobOfEight();
  job.activation_checkpointing = 1;
  EXPECT_EQ(Estimated(job).peak_allocated,
            12 * kAll + kBeside + 23 * kHidden + kBlockActivations + kBlockWork + 4 * kBlock);
}

TEST(LoraTargets, AreAllButATiedHead) {
  ModelShape model = TinyLlama().model;
  EXPECT_EQ(LoraTargets({}, model).size(), 8u);
  model.tied_head = true;
  EXPECT_EQ(LoraTargets({}, model).size(), 7u);
  EXPECT_EQ(LoraTargets({.targets = {"v", "q"}}, model).front().name, "q");
}

TEST(LoraMemory, TheBaseIsFrozenInTheComputeDtypeAndAdaptersAreTrained) {
  JobSpec job = Lora();
  job.precision = Precision::kBf16Mixed;
  const MemoryByKind held = AtPhase(Estimated(job), Phase::kBeforeForward);
  EXPECT_EQ(held.params, 2 * kAll + 6 * kAdapters);
  EXPECT_EQ(held.optimizer, 8 * kAdapters);
}

TEST(LoraMemory, OfTheHeadAloneNoBlockSavesAnything) {
  JobSpec head = Lora();
  head.lora->targets = {"head"};
  EXPECT_EQ(AtPhase(Estimated(head), Phase::kAfterForward).other, kHidden + kBeside);
  EXPECT_LT(Estimated(head).peak_allocated, Estimated(Lora()).peak_allocated);
}

TEST(LoraMemory, EachAdapterSavesItsInnerProduct) {
  EXPECT_EQ(AtPhase(Estimated(Lora()), Phase::kAfterForward).other,
            kActivations + 22 * kPositions * 4 * 32 * 7);
  JobSpec few = Lora();
  few.lora->targets = {"q", "v"};
  EXPECT_EQ(AtPhase(Estimated(few), Phase::kAfterForward).other,
            kActivations + 22 * kPositions * 4 * 32 * 2);
}

TEST(LoraMemory, UnderFsdpTheBaseIsShardedAndAdaptersAreNot) {
  JobSpec job = Sharded(4);
  job.lora.emplace();
  const MemoryByKind held = AtPhase(Estimated(job), Phase::kAfterBackward);
  EXPECT_EQ(held.params, kAll + 4 * kAdapters);
  EXPECT_EQ(held.optimizer, 8 * kAdapters);
}

TEST(QuantizedMemory, BlockMatricesAreCodesAndTheRestStays) {
  JobSpec job = Lora();
  job.precision = Precision::kBf16True;
  job.quantize = Quantize::kNf4;
  const int64_t whole = 2 * (kAll - 22 * kBlockMatrices + kAdapters);
  EXPECT_EQ(AtPhase(Estimated(job), Phase::kBeforeForward).params,
            whole + 22 * kBlockMatrices * 9 / 16);
  job.quantize = Quantize::kNf4Dq;
  const double bits =
      8.0 * static_cast<double>(AtPhase(Estimated(job), Phase::kBeforeForward).params - whole) /
      (22.0 * kBlockMatrices);
  EXPECT_NEAR(bits, 4.127, 0.001);
}

TEST(QuantizedMemory, AUnitIsUnpackedWhileItIsAtWork) {
  JobSpec job = Lora();
  job.precision = Precision::kBf16True;
  const MemoryEstimate lora = Estimated(job);
  job.quantize = Quantize::kNf4;
  const MemoryEstimate quantized = Estimated(job);
  const int64_t saved = AtPhase(lora, Phase::kBeforeForward).params -
                        AtPhase(quantized, Phase::kBeforeForward).params;
  EXPECT_EQ(lora.peak_allocated - quantized.peak_allocated, saved - 2 * kBlockMatrices);
}

TEST(EightBitMemory, StatesAreABytePlusAScaleForEach256) {
  JobSpec job = JobOfEight();
  job.optimizer.name = OptimizerKind::kAdamW8bit;
  // The norms of 2,048 elements (two a block, one of the head) stay fp32.
  const int64_t small = 45 * 2048;
  EXPECT_EQ(AtPhase(Estimated(job), Phase::kBeforeForward).optimizer,
            (kAll - small) * 2 * 65 / 64 + 8 * small);
}

TEST(HeadSize, OneThatKernelsPadKeepsThePaddedAttentionOutputToo) {
  Inspection inspection = TinyLlama();
  inspection.model.head_dim = 100;
  const auto saved = [&](DeviceKind device) {
    return AtPhase(Estimated(JobOfEight(), inspection, device), Phase::kAfterForward).other;
  };
  EXPECT_EQ(saved(DeviceKind::kCuda) - saved(DeviceKind::kCpu),
            22 * kPositions * 4 * 32 * 104 + kWorkspace);
}

}  // namespace
}  // namespace trainctl::job
