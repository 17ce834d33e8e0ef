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
  longer.eval.max_new_tokens = 164;
  EXPECT_EQ(Estimated(longer).peak_allocated - Estimated(Texts()).peak_allocated,
            4 * 2 * 22 * 4 * 64 * 100);
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
