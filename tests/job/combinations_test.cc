#include "common/job/combinations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "common/estimate/check_model.h"
#include "common/estimate/memory_estimate.h"
#include "tests/job/valid_job.h"

namespace trainctl::job {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

using Change = std::function<void(JobSpec&)>;
using Axis = std::vector<Change>;

// Calls visit with every member of the product of the axes.
void Walk(const std::vector<Axis>& axes, JobSpec& job,
          const std::function<void(const JobSpec&)>& visit, size_t depth = 0) {
  if (depth == axes.size()) return visit(job);
  for (const Change& change : axes[depth]) {
    change(job);
    Walk(axes, job, visit, depth + 1);
  }
}

std::vector<Axis> Axes() {
  const auto set = [](auto member, auto... values) {
    return Axis{[member, values](JobSpec& job) { job.*member = values; }...};
  };
  const auto optimizer = [](OptimizerKind name) {
    return [name](JobSpec& job) { job.optimizer.name = name; };
  };
  const auto save = [](Save what) {
    return [what](JobSpec& job) { job.output = {.dir = "out", .save = what}; };
  };
  return {
      set(&JobSpec::devices, 1, 2),
      set(&JobSpec::strategy, StrategyKind::kAuto, StrategyKind::kSingle, StrategyKind::kDdp,
          StrategyKind::kFsdp),
      set(&JobSpec::sharding, Sharding::kFull, Sharding::kGradOp),
      set(&JobSpec::fsdp_unit, FsdpUnit::kBlock, FsdpUnit::kModel),
      set(&JobSpec::offload_optimizer, false, true),
      set(&JobSpec::precision, Precision::k32True, Precision::kBf16True, Precision::kBf16Mixed),
      {optimizer(OptimizerKind::kAdamW), optimizer(OptimizerKind::kSgd),
       optimizer(OptimizerKind::kAdamW8bit)},
      {[](JobSpec& job) { job.lora.reset(); }, [](JobSpec& job) { job.lora.emplace(); }},
      set(&JobSpec::quantize, std::optional<Quantize>(), std::optional(Quantize::kNf4),
          std::optional(Quantize::kNf4Dq)),
      set(&JobSpec::activation_checkpointing, 0, 1, 2),
      set(&JobSpec::engine, EngineKind::kFused, EngineKind::kReference),
      set(&JobSpec::deterministic, false, true),
      {save(Save::kNone), save(Save::kFinal), save(Save::kAdapter), save(Save::kMerged)},
  };
}

// What combines, said the other way round: by method, what it works with.
bool Combines(const JobSpec& job) {
  const bool several = job.devices > 1;
  const bool is_fsdp = job.strategy == StrategyKind::kFsdp;
  const bool is_ddp =
      job.strategy == StrategyKind::kDdp || (job.strategy == StrategyKind::kAuto && several);
  if (job.strategy == StrategyKind::kSingle && several) return false;
  if (job.offload_optimizer && (is_ddp || job.optimizer.name != OptimizerKind::kAdamW || job.lora))
    return false;
  if (job.quantize && (is_fsdp || !job.lora)) return false;
  const bool is_adapter = job.output.save == Save::kAdapter || job.output.save == Save::kMerged;
  return !is_adapter || job.lora.has_value();
}

Inspection SmallModel() {
  Inspection inspection;
  inspection.longest_row = 64;
  inspection.model = {.layers = 3,
                      .hidden = 256,
                      .intermediate = 512,
                      .heads = 4,
                      .kv_heads = 2,
                      .head_dim = 64,
                      .vocab = 512};
  return inspection;
}

TEST(Combinations, EveryMemberOfTheWholeProductIsRefusedOrNotAsTheMethodsSay) {
  int64_t members = 0, refused = 0;
  JobSpec job = SmallestJob();
  Walk(Axes(), job, [&](const JobSpec& member) {
    ++members;
    const std::vector<Problem> problems = FindClashes(member);
    refused += problems.empty() ? 0 : 1;
    ASSERT_EQ(problems.empty(), Combines(member)) << ToJson(member);
  });
  EXPECT_EQ(members, 2 * 4 * 2 * 2 * 2 * 3 * 3 * 2 * 3 * 3 * 2 * 2 * 4);
  EXPECT_GT(refused, 0);
}

TEST(Combinations, EveryMemberThatCombinesHasAMemoryEstimateThatAddsUp) {
  const Inspection inspection = SmallModel();
  JobSpec job = SmallestJob();
  Walk(Axes(), job, [&](const JobSpec& member) {
    if (!FindClashes(member).empty()) return;
    for (const DeviceKind device : {DeviceKind::kCuda, DeviceKind::kCpu}) {
      const MemoryEstimate estimate = EstimateMemory(member, inspection, device);
      for (const MemoryByKind& phase : estimate.phases) {
        const int64_t host = device == DeviceKind::kCpu ? phase.optimizer_cpu : 0;
        ASSERT_EQ(phase.allocated,
                  phase.params + phase.grads + phase.optimizer + phase.other + host)
            << ToJson(member);
        ASSERT_LE(phase.allocated, estimate.peak_allocated) << ToJson(member);
        ASSERT_GT(phase.params, 0) << ToJson(member);
        ASSERT_EQ(phase.optimizer_cpu > 0, member.offload_optimizer) << ToJson(member);
      }
    }
  });
}

TEST(Combinations, EveryRowIsTheOnlyReasonForSomeJob) {
  std::set<std::string_view> reasons;
  const auto visit = [&](const JobSpec& member) {
    const std::vector<Problem> problems = FindClashes(member);
    if (problems.size() != 1) return;
    for (const Clash& clash : Clashes()) {
      if (clash.reason == problems[0].hint) reasons.insert(clash.reason);
    }
  };
  JobSpec job = SmallestJob();
  Walk(Axes(), job, visit);
  JobSpec nowhere = SmallestJob();
  nowhere.checkpoint.every_steps = 10;
  visit(nowhere);
  JobSpec untracked = SmallestJob();
  untracked.track = {"tensorboard"};
  visit(untracked);
  JobSpec masked = SmallestJob();
  masked.data = {.path = "d", .format = DataFormat::kText, .mask_prompt = true};
  visit(masked);
  JobSpec written = SmallestJob();
  written.data.chat_template = ChatTemplate::kChatml;
  visit(written);
  JobSpec packed = SmallestJob();
  packed.train.packing = packed.train.group_by_length = true;
  visit(packed);
  packed.train.group_by_length = false;
  packed.data.format = DataFormat::kCaptions;
  visit(packed);
  JobSpec resumed = SmallestJob();
  resumed.checkpoint.resume_job = "j1";
  visit(resumed);
  JobSpec frozen = SmallestJob();
  frozen.freeze = {"vision"};
  frozen.lora.emplace();
  visit(frozen);
  JobSpec texts = SmallestJob();
  texts.train.max_steps = 0;
  visit(texts);
  texts.eval.prompts = {"Once"};
  EXPECT_THAT(FindClashes(texts), IsEmpty());
  for (const Change& change :
       {Change([](JobSpec& one) { one.eval.images = {"a.png"}; }), Change([](JobSpec& one) {
          one.data.val_path = "v";
          one.data.val_split_fraction = 0.1;
        }),
        Change([](JobSpec& one) { one.data.split = one.data.val_split = "train"; }),
        Change([](JobSpec& one) { one.data.val_split = "test"; }),
        Change([](JobSpec& one) { one.data.on_broken_picture = OnBrokenPicture::kSkip; }),
        Change([](JobSpec& one) { one.output.dtype = WeightsType::kFloat16; })}) {
    JobSpec changed = SmallestJob();
    change(changed);
    visit(changed);
  }
  for (const Change& change :
       {Change([](JobSpec& one) { one.devices = 2; }),
        Change([](JobSpec& one) { one.output = {.dir = "out", .save = Save::kFinal}; }),
        Change([](JobSpec& one) { one.checkpoint.resume_from = "out"; }),
        Change([](JobSpec& one) { one.profile.emplace(); }), Change([](JobSpec& one) {
          one.track = {"tensorboard"};
          one.output.dir = "out";
        })}) {
    JobSpec changed = texts;
    change(changed);
    visit(changed);
  }
  for (const Clash& clash : Clashes())
    EXPECT_TRUE(reasons.contains(clash.reason)) << clash.key << ": " << clash.reason;
}

TEST(Combinations, SavingNeedsAFolder) {
  JobSpec job = SmallestJob();
  job.output.save = Save::kFinal;
  EXPECT_EQ(FindClashes(job).at(0).path, "output.dir");
}

TEST(Combinations, TheTypeOfASavedModelNeedsAWholeModel) {
  JobSpec job = SmallestJob();
  job.output = {.dir = "out", .save = Save::kFinal, .dtype = WeightsType::kFloat16};
  EXPECT_THAT(FindClashes(job), IsEmpty());
  job.lora.emplace();
  ASSERT_EQ(FindClashes(job).size(), 1);
  EXPECT_EQ(FindClashes(job)[0].path, "output.dtype");
  job.output.save = Save::kAdapter;
  EXPECT_EQ(FindClashes(job).size(), 1);
  job.output.save = Save::kMerged;
  EXPECT_THAT(FindClashes(job), IsEmpty());
}

TEST(CheckModel, WithoutTrainingAllIsFrozenAndAModelOfPicturesTakesSome) {
  JobSpec job = SmallestJob();
  job.train.max_steps = 0;
  job.eval.prompts = {"Once"};
  ModelShape model = SmallModel().model;
  EXPECT_THAT(CheckModel(job, model), IsEmpty());
  job.freeze = {"language"};
  EXPECT_THAT(CheckModel(job, model), IsEmpty());
  job.freeze.clear();
  model.image = ImageShape();
  model.max_positions = job.train.max_seq_length;
  ASSERT_EQ(CheckModel(job, model).size(), 1);
  EXPECT_EQ(CheckModel(job, model)[0].path, "eval.images");
  job.eval.images = {"a.png"};
  EXPECT_THAT(CheckModel(job, model), IsEmpty());
  model.image.reset();
  ASSERT_EQ(CheckModel(job, model).size(), 1);
  EXPECT_EQ(CheckModel(job, model)[0].path, "eval.images");
}

TEST(Combinations, RowsThatArePackedHaveNoPicturesAndNoOrderByLength) {
  JobSpec job = SmallestJob();
  job.train.packing = true;
  EXPECT_THAT(FindClashes(job), IsEmpty());
  job.data.format = DataFormat::kCaptions;
  EXPECT_EQ(FindClashes(job).at(0).path, "train.packing");
  job.data.format = DataFormat::kAlpaca;
  job.train.group_by_length = true;
  EXPECT_EQ(FindClashes(job).at(0).path, "train.group_by_length");
}

TEST(CheckModel, AModelOfPicturesIsNotPacked) {
  JobSpec job = SmallestJob();
  ModelShape model = SmallModel().model;
  model.family = "blip-2";
  model.max_positions = job.train.max_seq_length;
  model.image.emplace();
  EXPECT_THAT(CheckModel(job, model), IsEmpty());
  job.train.packing = true;
  ASSERT_EQ(CheckModel(job, model).size(), 1);
  EXPECT_EQ(CheckModel(job, model)[0].path, "train.packing");
}

TEST(CheckModel, AMatrixThatDoesNotQuantizeInWholeBlocksIsNamed) {
  JobSpec job = SmallestJob();
  job.lora.emplace();
  job.quantize = Quantize::kNf4;
  ModelShape model = SmallModel().model;
  EXPECT_THAT(CheckModel(job, model), IsEmpty());
  model.intermediate = 3;
  model.hidden = 5;
  const std::vector<Problem> problems = CheckModel(job, model);
  ASSERT_FALSE(problems.empty());
  EXPECT_EQ(problems.back().path, "quantize");
  EXPECT_EQ(problems.back().value, "model.layers.0.mlp.down_proj.weight");
  EXPECT_THAT(problems.back().hint, HasSubstr("this one has 15"));
  job.quantize.reset();
  EXPECT_THAT(CheckModel(job, model), IsEmpty());
}

TEST(CheckModel, RowsBeyondLearnedPositionsAreRefused) {
  JobSpec job = SmallestJob();
  ModelShape model = SmallModel().model;
  model.family = "opt";
  model.max_positions = 512;
  job.train.max_seq_length = 512;
  EXPECT_THAT(CheckModel(job, model), IsEmpty());
  job.train.max_seq_length = 513;
  const std::vector<Problem> problems = CheckModel(job, model);
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].path, "train.max_seq_length");
  EXPECT_THAT(problems[0].hint, HasSubstr("max_position_embeddings"));
}

TEST(CheckModel, AnAdapterOfALayerThatTheModelDoesNotHaveIsRefused) {
  JobSpec job = SmallestJob();
  job.lora.emplace().targets = {"q", "gate", "up"};
  ModelShape model = SmallModel().model;
  EXPECT_THAT(CheckModel(job, model), IsEmpty());
  model.family = "opt";
  model.max_positions = job.train.max_seq_length;
  const std::vector<Problem> problems = CheckModel(job, model);
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].path, "lora.targets");
  EXPECT_EQ(problems[0].value, "gate");
}

TEST(CheckModel, AnAdapterOfATiedHeadIsRefusedWhereItIsNamed) {
  JobSpec job = SmallestJob();
  job.lora.emplace();
  Inspection inspection = SmallModel();
  inspection.model.tied_head = true;
  EXPECT_THAT(CheckModel(job, inspection.model), IsEmpty())
      << "all targets leave the tied head out";
  job.lora->targets = {"q", "head"};
  const std::vector<Problem> problems = CheckModel(job, inspection.model);
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].path, "lora.targets");
  EXPECT_THAT(problems[0].hint, HasSubstr("tie_word_embeddings"));
  inspection.model.tied_head = false;
  EXPECT_THAT(CheckModel(job, inspection.model), IsEmpty());
}

}  // namespace
}  // namespace trainctl::job
