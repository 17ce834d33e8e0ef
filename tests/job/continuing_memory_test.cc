// The memory of a job that does not train, worked out by hand from memory_continuing.h.
#include <gtest/gtest.h>

#include "common/estimate/accept_job.h"
#include "common/estimate/run_time.h"
#include "tests/job/memory_of.h"
#include "tests/job/tiny_llama.h"

namespace trainctl::job {
namespace {

using namespace tiny_llama;

constexpr int64_t kText = 10 + 2 + 64;            // bytes and two, and the new tokens
constexpr int64_t kCache = 2 * 22 * 4 * 64 * 76;  // elements

constexpr int64_t kCacheOfPosition = 4 * 2 * 22 * 4 * 64;  // bytes
// With what heads that share keys attend to, three scores a head, and the table of rotations.
constexpr int64_t kOfPosition = kCacheOfPosition + 4 * 32 * 64 + 3 * 4 * 32 + 4 * 64;

JobSpec Texts() {
  JobSpec job = SmallestJob();
  job.train.max_steps = 0;
  job.eval.prompts = {"Once", "0123456789"};
  return job;
}

TEST(ContinuingMemory, IsWeightsAndTheCacheOfTheLongestText) {
  const MemoryEstimate estimate = Estimated(Texts());
  const MemoryByKind& memory = AtPhase(estimate, Phase::kBeforeForward);
  EXPECT_EQ(memory.params, 4 * kAll);
  EXPECT_EQ(memory.optimizer, 0);
  EXPECT_EQ(memory.grads, 0);
  EXPECT_EQ(memory.other, 4 * kCache + 512 * 64 * 4 + kWorkspace);
  EXPECT_EQ(estimate.sequence_length, kText);
  EXPECT_EQ(memory.allocated, memory.params + memory.other);
  EXPECT_GT(estimate.peak_allocated, memory.allocated);
  EXPECT_LT(estimate.peak_allocated, memory.allocated + (2 << 20));
}

TEST(ContinuingMemory, HoldsNoMastersUnderMixedAndFrozenAdapters) {
  JobSpec job = Texts();
  job.precision = Precision::kBf16Mixed;
  EXPECT_EQ(AtPhase(Estimated(job), Phase::kBeforeForward).params, 2 * kAll);
  job.lora = LoraSpec{.r = 8, .alpha = 16, .dropout = 0, .targets = {"q"}};
  const MemoryByKind memory = AtPhase(Estimated(job), Phase::kBeforeForward);
  EXPECT_EQ(memory.params, 2 * (kAll + 22 * 8 * (2048 + 2048)));
  EXPECT_EQ(memory.optimizer, 0);
}

TEST(ContinuingMemory, GrowsWithWhatIsAskedFor) {
  JobSpec longer = Texts();
  const auto peak = [&](int64_t new_tokens) {
    longer.eval.max_new_tokens = new_tokens;
    return Estimated(longer).peak_allocated;
  };
  EXPECT_EQ(peak(1088 - 12) - peak(1024 - 12), 64 * kOfPosition);
}

TEST(ContinuingMemory, CountsTheTokensOfATemplateToo) {
  JobSpec chat = Texts();
  chat.data.format = DataFormat::kChat;
  EXPECT_EQ(Estimated(chat).sequence_length, kText + 64);
  chat.eval.raw_prompts = true;
  EXPECT_EQ(Estimated(chat).sequence_length, kText);
}

TEST(ContinuingMemory, IsOfOnePromptWhateverTheMicroBatch) {
  JobSpec batched = Texts();
  batched.train.micro_batch_size = 64;
  batched.train.global_batch_size = 64;
  EXPECT_EQ(Estimated(batched).peak_allocated, Estimated(Texts()).peak_allocated);
}

// Trains adapters on short rows: less than texts of some thousand tokens.
MemoryEstimate OfEvaluation(int64_t prompts, int64_t new_tokens) {
  JobSpec job = SmallestJob();
  job.lora = LoraSpec{.r = 8, .alpha = 16, .dropout = 0, .targets = {"q"}};
  job.activation_checkpointing = 1;
  job.train.max_seq_length = 4096;
  job.eval.prompts = std::vector<std::string>(static_cast<size_t>(prompts), "0123456789");
  job.eval.max_new_tokens = new_tokens;
  Inspection inspection = TinyLlama();
  inspection.longest_row = 64;
  return Estimated(job, inspection);
}

TEST(ContinuingMemory, AnEvaluationOfAJobThatTrainsHoldsTheCacheBesideItsOptimizer) {
  const MemoryEstimate estimate = OfEvaluation(1, 4096 - 12);
  const MemoryByKind& memory = AtPhase(estimate, Phase::kBeforeForward);
  EXPECT_GT(memory.optimizer, 0);
  EXPECT_GT(estimate.peak_allocated, memory.params + memory.optimizer + 4096 * kCacheOfPosition);
  EXPECT_EQ(OfEvaluation(1, 4096 - 12 + 64).peak_allocated - estimate.peak_allocated,
            64 * kOfPosition);
  EXPECT_EQ(AtPhase(OfEvaluation(1, 8), Phase::kAfterForward).allocated,
            AtPhase(OfEvaluation(1, 16), Phase::kAfterForward).allocated)
      << "a step knows nothing of texts";
}

TEST(ContinuingMemory, TextsOfAnEvaluationHoldAsManyPositionsAsAMicroBatch) {
  const auto peak = [](int64_t prompts) { return OfEvaluation(prompts, 1012).peak_allocated; };
  EXPECT_EQ(peak(3) - peak(2), 1024 * kCacheOfPosition);
  EXPECT_EQ(peak(4) - peak(3), 1024 * kCacheOfPosition);
  EXPECT_EQ(peak(5), peak(4)) << "the fifth waits for the others";
}

TEST(ContinuingMemory, ASiteTakesSuchAJobWithoutRowsAndForetellsNoTime) {
  Inspection inspection = TinyLlama();
  inspection.rows = 0;
  const auto accepted = AcceptJob({.job = Texts(), .inspection = inspection});
  ASSERT_TRUE(accepted.ok()) << accepted.error().message;
  EXPECT_TRUE(accepted->problems.empty());
  ASSERT_TRUE(accepted->plan);
  EXPECT_EQ(accepted->plan->total_steps, 0);
  EXPECT_FALSE(EstimateTime(Texts(), inspection, "NVIDIA H200"));
  EXPECT_FALSE(EstimateTimeFromRuns(Texts(), inspection, {.step_seconds = 1, .runs = 1}));
}

}  // namespace
}  // namespace trainctl::job
