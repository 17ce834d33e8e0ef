// How often fsdp gathers a unit's weights.
#include <gtest/gtest.h>

#include "tests/engine/tiny_training.h"

namespace trainctl::engine_test {
namespace {

// Of two blocks: the last stays whole beside the head, the first to the next micro step.
TEST(FsdpGathers, AUnitThatIsUsedAgainAfterTheNextIsGatheredOnce) {
  for (const int64_t checkpoint_every : {0, 1}) {
    TinyRun run{.devices = 2, .accumulation = 3};
    run.job.strategy = job::StrategyKind::kFsdp;
    run.job.activation_checkpointing = checkpoint_every;
    // embedding, 0, 1, head, 0; from the second micro step on without the first 0. The very first
    // micro step learns the order, and the second what follows it.
    EXPECT_EQ(Train(run).all_gathers, run.steps * (5 + 4 + 4) + 2);
    run.job.sharding = job::Sharding::kGradOp;
    EXPECT_EQ(Train(run).all_gathers, run.steps * kTinyUnits);
  }
}

TEST(FsdpGathers, UnderLoraAreThoseOfTheFrozenWeights) {
  TinyRun run{.devices = 2, .accumulation = 3};
  run.job.strategy = job::StrategyKind::kFsdp;
  run.job.lora.emplace();
  EXPECT_EQ(Train(run).all_gathers, run.steps * (5 + 4 + 4) + 2);
}

}  // namespace
}  // namespace trainctl::engine_test
