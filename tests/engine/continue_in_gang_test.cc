// Texts continued while weights lie in shards of two ranks.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "tests/engine/tiny_training.h"
#include "worker/rank/model/continue_texts.h"

namespace trainctl::engine_test {
namespace {

using Ids = std::vector<int32_t>;

// What rank 0 makes of two texts after each step.
std::vector<std::vector<Ids>> TextsOf(TinyRun run, TinyResult* result) {
  std::vector<std::vector<Ids>> texts;
  run.after_step = [&](int64_t, strategy::Strategy& strategy, comm::Communicator& comm) {
    const job::ModelShape shape = TinyShape();
    const auto model = model::MakeModel(shape, {.max_length = 32}).value().release();
    const std::unique_ptr<model::Model> owned(model);
    ops::Tape silent(false);
    ops::Context context{silent, strategy, ops::AtenKernels(), model->norm_eps(), false};
    const auto agree = [&](const at::Tensor& chosen) {
      if (comm.world_size() > 1) comm.Wait(comm.Broadcast(chosen, 0));
    };
    auto added = model::ContinueTexts(*model, shape, context, {{{5, 6, 7}}, {{9}}},
                                      {.max_new_tokens = 12, .agree = agree}, at::kCPU);
    if (comm.rank() == 0) texts.push_back(std::move(added));
  };
  *result = Train(run);
  return texts;
}

TEST(ContinueInGang, ShardedWeightsGiveTheTextsOfWholeOnesAndTrainOnAsBefore) {
  TinyRun alone{.devices = 1, .accumulation = 2};
  TinyRun sharded{.devices = 2, .accumulation = 1};
  alone.job.strategy = job::StrategyKind::kSingle;
  sharded.job.strategy = job::StrategyKind::kFsdp;
  TinyResult expected, actual;
  const auto texts = TextsOf(alone, &expected);
  ASSERT_EQ(texts.size(), static_cast<size_t>(alone.steps));
  EXPECT_EQ(TextsOf(sharded, &actual), texts);
  EXPECT_EQ(actual.losses, Train(sharded).losses) << "texts leave the training alone";
  EXPECT_TRUE(actual.ranks_agree);
  sharded.job.sharding = job::Sharding::kGradOp;
  EXPECT_EQ(TextsOf(sharded, &actual), texts);
}

}  // namespace
}  // namespace trainctl::engine_test
