// What ranks hold from step to step is what the estimate counts, by kind, on the fullest rank.
#include <gtest/gtest.h>

#include <algorithm>
#include <mutex>
#include <optional>

#include "common/estimate/memory_estimate.h"
#include "tests/engine/tiny_training.h"

namespace trainctl::engine_test {
namespace {

// Of its tensors some have states in 8 bits, and small ones between them have not.
job::ModelShape Shape() {
  return {.layers = 2,
          .hidden = 96,
          .intermediate = 160,
          .heads = 6,
          .kv_heads = 2,
          .head_dim = 16,
          .vocab = 301,
          .max_positions = 64};
}

// The most of each kind, over the ranks, after a step.
job::MemoryByKind HeldBy(TinyRun run) {
  job::MemoryByKind most;
  std::mutex mutex;
  run.steps = 1;
  run.after_step = [&](int64_t, strategy::Strategy& strategy, comm::Communicator&) {
    const job::MemoryByKind held = strategy.Held();
    const std::lock_guard lock(mutex);
    most.params = std::max(most.params, held.params);
    most.optimizer = std::max(most.optimizer, held.optimizer);
    most.optimizer_cpu = std::max(most.optimizer_cpu, held.optimizer_cpu);
  };
  Train(run, Shape());
  return most;
}

job::MemoryByKind CountedOf(const TinyRun& run, job::Phase phase) {
  job::JobSpec job = run.job;
  job.devices = run.devices;
  job.train.micro_batch_size = run.micro;
  job.train.global_batch_size = run.micro * run.devices * run.accumulation;
  return job::EstimateMemory(job, {.model = Shape()}, job::DeviceKind::kCpu, run.holds_gradients)
      .phases[static_cast<size_t>(phase)];
}

void ExpectCounted(const TinyRun& run) {
  const job::MemoryByKind held = HeldBy(run),
                          counted = CountedOf(run, job::Phase::kAfterOptimizerStep);
  EXPECT_EQ(held.params, counted.params);
  EXPECT_EQ(held.optimizer, counted.optimizer);
  EXPECT_EQ(held.optimizer_cpu, counted.optimizer_cpu);
}

constexpr job::Precision kPrecisions[] = {job::Precision::k32True, job::Precision::kBf16True,
                                          job::Precision::kBf16Mixed};
constexpr job::OptimizerKind kOptimizers[] = {job::OptimizerKind::kAdamW, job::OptimizerKind::kSgd,
                                              job::OptimizerKind::kAdamW8bit};

TEST(HeldMemory, IsWhatIsCountedOfWholeAndShardedParameters) {
  for (const int64_t devices : {1, 2, 3}) {
    for (const job::Precision precision : kPrecisions) {
      for (const job::OptimizerKind optimizer : kOptimizers) {
        TinyRun run{.devices = devices};
        run.job.precision = precision;
        run.job.optimizer.name = optimizer;
        run.job.optimizer.momentum = optimizer == job::OptimizerKind::kSgd ? 0.9 : 0;
        if (devices > 1) run.job.strategy = job::StrategyKind::kFsdp;
        SCOPED_TRACE(testing::Message()
                     << devices << " devices, precision " << static_cast<int>(precision)
                     << ", optimizer " << static_cast<int>(optimizer));
        ExpectCounted(run);
      }
    }
  }
}

TEST(HeldMemory, IsWhatIsCountedOfAdaptersAndCodes) {
  for (const job::OptimizerKind optimizer : kOptimizers) {
    for (const auto quantize : {std::optional<job::Quantize>(), {job::Quantize::kNf4}}) {
      TinyRun run;
      run.job.optimizer.name = optimizer;
      run.job.lora = job::LoraSpec{.r = 4};
      run.job.quantize = quantize;
      SCOPED_TRACE(testing::Message()
                   << "optimizer " << static_cast<int>(optimizer) << (quantize ? ", nf4" : ""));
      ExpectCounted(run);
    }
  }
}

// On rank 0 as the last forward of a later step begins: gradients of the micro steps before, and
// the weights that are whole.
void ExpectCountedBeforeLastForward(TinyRun run) {
  for (const int64_t accumulation : {1, 2, 3}) {
    SCOPED_TRACE(testing::Message() << accumulation << " micro steps");
    run.accumulation = accumulation;
    run.steps = 2;
    std::mutex mutex;
    job::MemoryByKind held;
    run.before_last_forward = [&](strategy::Strategy& strategy) {
      const std::lock_guard lock(mutex);
      held = strategy.Held();
    };
    Train(run, Shape());
    const job::MemoryByKind counted = CountedOf(run, job::Phase::kBeforeForward);
    EXPECT_EQ(held.grads, counted.grads);
    EXPECT_EQ(held.params, counted.params);
    EXPECT_EQ(held.grads > 0, accumulation > 1);
  }
}

TEST(HeldMemory, OfMicroStepsIsCountedBeforeTheLastOne) {
  for (const int64_t devices : {1, 2}) {
    for (const bool is_deterministic : {false, true}) {
      TinyRun run{.devices = devices};
      run.job.deterministic = is_deterministic;
      SCOPED_TRACE(testing::Message() << devices << " devices, " << is_deterministic);
      ExpectCountedBeforeLastForward(run);
      run.job.train.max_norm = 1;
      ExpectCountedBeforeLastForward(run);
    }
  }
  TinyRun offloads, adapts;
  offloads.job.offload_optimizer = true;
  ExpectCountedBeforeLastForward(offloads);
  adapts.job.lora = job::LoraSpec{.r = 4};
  ExpectCountedBeforeLastForward(adapts);
}

TEST(HeldMemory, OfShardedMicroStepsIsCountedBeforeTheLastOne) {
  for (const job::Sharding sharding : {job::Sharding::kFull, job::Sharding::kGradOp}) {
    for (const job::FsdpUnit unit : {job::FsdpUnit::kBlock, job::FsdpUnit::kModel}) {
      for (const bool is_deterministic : {false, true}) {
        TinyRun run{.devices = 2};
        run.job.strategy = job::StrategyKind::kFsdp;
        run.job.sharding = sharding;
        run.job.fsdp_unit = unit;
        run.job.deterministic = is_deterministic;
        SCOPED_TRACE(testing::Message()
                     << "sharding " << static_cast<int>(sharding) << ", unit "
                     << static_cast<int>(unit) << ", deterministic " << is_deterministic);
        ExpectCountedBeforeLastForward(run);
        if (is_deterministic) continue;
        run.holds_gradients = true;
        ExpectCountedBeforeLastForward(run);
      }
    }
  }
}

}  // namespace
}  // namespace trainctl::engine_test
