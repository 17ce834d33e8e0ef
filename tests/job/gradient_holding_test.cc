#include "common/estimate/gradient_holding.h"

#include <gtest/gtest.h>

#include "common/estimate/fit.h"
#include "tests/job/gib.h"
#include "tests/job/tiny_llama.h"
#include "tests/job/valid_job.h"

namespace trainctl::job {
namespace {

using tiny_llama::TinyLlama;

JobSpec Accumulating() {
  JobSpec job = SmallestJob();
  job.devices = 4;
  job.strategy = StrategyKind::kFsdp;
  job.train.micro_batch_size = 2;
  job.train.accumulate_grad_batches = 4;
  return job;
}

MemoryEstimate Within(const JobSpec& job, int64_t limit) {
  return EstimateMemoryOn(job, TinyLlama(), DeviceKind::kCuda, limit);
}

int64_t Peak(const JobSpec& job, bool holds) {
  return EstimateMemory(job, TinyLlama(), DeviceKind::kCuda, holds).peak_allocated;
}

TEST(GradientHolding, IsChosenWhereItLeavesTheMargin) {
  const JobSpec job = Accumulating();
  const int64_t held = Peak(job, true),
                enough = static_cast<int64_t>(static_cast<double>(held) / kSafeShare) + 1;
  EXPECT_EQ(Within(job, enough).holds_gradients, true);
  EXPECT_EQ(Within(job, enough).peak_allocated, held);
  EXPECT_EQ(Within(job, enough).holding_bytes, held - Peak(job, false));
  EXPECT_GT(Within(job, enough).holding_bytes, 2 * kGiB);
  EXPECT_EQ(Within(job, held).holds_gradients, false);
  EXPECT_EQ(Within(job, held).peak_allocated, Peak(job, false));
  EXPECT_EQ(Within(job, held).holding_bytes, 0);
}

TEST(GradientHolding, IsNotChosenWhereTheMemoryIsNotKnown) {
  EXPECT_FALSE(HoldsGradients(Accumulating(), TinyLlama(), DeviceKind::kCuda, 0));
}

TEST(GradientHolding, IsChosenWhereItNeedsNoMoreWhateverTheMemory) {
  JobSpec job = Accumulating();  // its gradients are all whole at the end of a backward anyway, and
                                 // its activations few
  job.train.max_seq_length = 64;
  job.fsdp_unit = FsdpUnit::kModel;
  EXPECT_LE(Peak(job, true), Peak(job, false));
  EXPECT_TRUE(HoldsGradients(job, TinyLlama(), DeviceKind::kCuda, 0));
  const std::vector<SiteDevice> site(4,
                                     {DeviceKind::kCuda, "node1", "GPU", Peak(job, true), "9.0"});
  EXPECT_TRUE(BestFit(job, TinyLlama(), site)->fits());
}

TEST(GradientHolding, IsNoChoiceWhereEachGradientIsReducedOnceOrFormedAlone) {
  const auto has_choice = [](void (*change)(JobSpec&)) {
    JobSpec job = Accumulating();
    change(job);
    return Within(job, 1024 * kGiB).holds_gradients.has_value();
  };
  EXPECT_TRUE(has_choice([](JobSpec&) {}));
  EXPECT_TRUE(has_choice([](JobSpec& job) { job.offload_optimizer = true; }));
  EXPECT_FALSE(has_choice([](JobSpec& job) { job.train.accumulate_grad_batches = 1; }));
  EXPECT_FALSE(has_choice([](JobSpec& job) { job.deterministic = true; }));
  EXPECT_FALSE(has_choice([](JobSpec& job) { job.strategy = StrategyKind::kDdp; }));
  EXPECT_FALSE(has_choice([](JobSpec& job) { job.lora.emplace(); }));
}

TEST(GradientHolding, NeverMakesAJobThatFitsOneThatDoesNot) {
  for (const Precision precision :
       {Precision::k32True, Precision::kBf16True, Precision::kBf16Mixed}) {
    for (const Sharding sharding : {Sharding::kFull, Sharding::kGradOp}) {
      JobSpec job = Accumulating();
      job.precision = precision;
      job.sharding = sharding;
      for (int64_t limit = Peak(job, false); limit < 2 * Peak(job, true); limit += kGiB / 4) {
        EXPECT_LE(Within(job, limit).peak_allocated, limit)
            << "precision " << static_cast<int>(precision);
      }
    }
  }
}

TEST(GradientHolding, APredictionKeepsIt) {
  for (const int64_t limit : {int64_t{0}, 1024 * kGiB}) {
    const MemoryEstimate estimate = Within(Accumulating(), limit);
    const auto read = MemoryEstimateFromJson(ToJson(estimate));
    ASSERT_TRUE(read.ok()) << read.error().message;
    EXPECT_EQ(read->holds_gradients, estimate.holds_gradients);
    EXPECT_EQ(read->holding_bytes, estimate.holding_bytes);
  }
}

}  // namespace
}  // namespace trainctl::job
