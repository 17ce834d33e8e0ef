// trainrank as a process, on the tiny model that ships: what it reports, and how it ends.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <vector>

#include "common/model/model_description.h"
#include "common/rank/rank_json.h"
#include "tests/checkout.h"
#include "tests/engine/rank_process.h"
#include "worker/rank/files/model_config.h"
#include "worker/rank/files/safetensors.h"

namespace trainctl::engine_test {
namespace {

TEST_F(RankTest, AnOutputFolderThatCannotBeMadeEndsTheRunBeforeItsFirstStep) {
  plan_.job.output.dir = folder_ / "plan.json" / "out";  // a file is in the way
  plan_.job.output.save = job::Save::kFinal;
  const RankEnd end = Run();
  EXPECT_EQ(end.outcome().outcome, job::Outcome::kFailed);
  EXPECT_NE(end.outcome().message.find("output.dir: "), std::string::npos);
  EXPECT_NE(end.outcome().message.find("plan.json: Not a directory"), std::string::npos);
  EXPECT_TRUE(end.Points("loss").empty());
}

TEST_F(RankTest, ReportsEveryStepOnceAndSucceeds) {
  const RankEnd end = Run();
  EXPECT_EQ(end.exit_code, 0);
  EXPECT_EQ(end.outcome().outcome, job::Outcome::kSucceeded) << end.outcome().message;
  EXPECT_EQ(end.All<job::RankStarted>().size(), 1u);
  for (const char* name :
       {"loss", "lr", "step_seconds", "samples", "tokens", "trained_tokens", "tokens_per_second",
        "trained_tokens_per_second", "samples_per_second", "data_wait_seconds"}) {
    const auto points = end.Points(name);
    ASSERT_EQ(points.size(), 4u) << name;
    for (size_t step = 0; step < points.size(); ++step)
      EXPECT_EQ(points[step].step, static_cast<int64_t>(step)) << name;
  }
  EXPECT_EQ(end.Points("val_loss").size(), 1u);
  EXPECT_EQ(end.Points("evaluation_seconds").size(), 1u);
  EXPECT_EQ(end.All<job::RankProgress>().back().step, 4);
  EXPECT_TRUE(end.Points("loss")[0].rank == std::nullopt);
  EXPECT_EQ(end.Points("load_seconds").at(0).rank, 0);
  EXPECT_TRUE(end.Points("work_seconds").empty()) << "it waits for no other rank";
}

TEST_F(RankTest, WaitingForDataIsPartOfAStep) {
  const RankEnd end = Run();
  const auto waits = end.Points("data_wait_seconds"), steps = end.Points("step_seconds");
  ASSERT_EQ(waits.size(), steps.size());
  ASSERT_FALSE(waits.empty());
  for (size_t i = 0; i < waits.size(); ++i) {
    EXPECT_GT(waits[i].value, 0);
    EXPECT_LT(waits[i].value, steps[i].value);
  }
}

// The first row's prompt fills the sequence, and the answer is cut.
TEST_F(RankTest, AStepInWhichNothingCountsHasNoLoss) {
  std::ofstream rows(folder_ / "rows.json");
  rows << R"([{"instruction": ")" << std::string(4000, 'x') << R"(", "output": "never seen"},)"
       << R"( {"instruction": "Say yes", "output": "yes"}])";
  rows.close();
  plan_.job.data.path = folder_ / "rows.json";
  plan_.job.data.mask_prompt = true;
  plan_.job.data.val_split_fraction = 0;
  plan_.job.train.global_batch_size = plan_.job.train.micro_batch_size = 1;
  plan_.job.train.epochs = 2;
  plan_.job.train.max_seq_length = 256;
  const RankEnd end = Run();
  ASSERT_EQ(end.outcome().outcome, job::Outcome::kSucceeded) << end.outcome().message;
  const auto losses = end.Points("loss"), trained = end.Points("trained_tokens");
  EXPECT_EQ(losses.size(), 2u);
  ASSERT_EQ(trained.size(), 4u);
  for (const job::MetricPoint& loss : losses) {
    EXPECT_GT(loss.value, 0);
    const auto same_step = [&](const job::MetricPoint& point) { return point.step == loss.step; };
    EXPECT_GT(std::ranges::find_if(trained, same_step)->value, 0);
  }
  const auto notices = end.All<job::RankNotice>();
  ASSERT_EQ(notices.size(), 1u);
  EXPECT_NE(notices[0].text.find("no token that counts"), std::string::npos);
}

TEST_F(RankTest, ItsLogTellsOfTheLastStepAndTheEvaluation) {
  const RankEnd end = Run();
  std::ifstream file(folder_ / "log");
  const std::string log(std::istreambuf_iterator<char>(file), {});
  char loss[32];
  std::snprintf(loss, sizeof loss, "%.4g", end.Points("loss").back().value);
  EXPECT_NE(log.find(std::string("step 4/4  loss ") + loss + "  "), std::string::npos) << log;
  std::snprintf(loss, sizeof loss, "%.4g", end.Points("val_loss").back().value);
  EXPECT_NE(log.find(std::string("step 4/4  validation loss ") + loss + "  "), std::string::npos)
      << log;
}

TEST_F(RankTest, RandomWeightsStartAtTheLossOfChance) {
  plan_.job.model.init = job::ModelInit::kRandom;
  const RankEnd end = Run();
  const auto shape = files::ReadModelConfig(plan_.job.model.path).value();
  ASSERT_FALSE(end.Points("loss").empty());
  EXPECT_NEAR(end.Points("loss")[0].value, std::log(static_cast<double>(shape.vocab)), 0.3);
}

TEST_F(RankTest, GradientsOfTheMicroStepsBeforeTheLastAreMeasured) {
  plan_.job.train.accumulate_grad_batches = 3;
  plan_.job.train.max_steps = 1;
  const RankEnd end = Run();
  const auto shape = files::ReadModelConfig(plan_.job.model.path).value();
  const auto parameters = static_cast<double>(job::Parameters(job::Describe(shape)));
  const auto points = end.Points("memory_grads_bytes");
  ASSERT_EQ(points.size(), 4u);
  EXPECT_NEAR(points[0].value, 4 * parameters, 0.05 * 4 * parameters);  // before the forward
  EXPECT_EQ(points[1].value, points[0].value);                          // after it
  EXPECT_EQ(points[2].value, 0);
  EXPECT_EQ(points[3].value, 0);
}

TEST_F(RankTest, MemoryByKindIsTheArithmeticOfThePrecision) {
  const auto shape = files::ReadModelConfig(plan_.job.model.path).value();
  const auto parameters = static_cast<double>(job::Parameters(job::Describe(shape)));
  const auto expect = [&](job::Precision precision, double param_bytes, double moment_bytes) {
    plan_.job.precision = precision;
    const RankEnd end = Run();
    ASSERT_FALSE(end.Points("memory_params_bytes").empty());
    EXPECT_NEAR(end.Points("memory_params_bytes")[0].value, parameters * param_bytes,
                0.05 * parameters * param_bytes);
    EXPECT_NEAR(end.Points("memory_optimizer_bytes")[0].value, parameters * 2 * moment_bytes,
                0.05 * parameters * 2 * moment_bytes);
    // Four phases on each step of a short run.
    EXPECT_EQ(end.Points("memory_allocated_bytes").size(), 16u);
    // The optimizer runs inside the backward: no gradient is left behind it.
    for (const job::MetricPoint& point : end.Points("memory_grads_bytes"))
      EXPECT_EQ(point.value, 0) << Name(point.phase);
  };
  expect(job::Precision::k32True, 4, 4);
  expect(job::Precision::kBf16True, 2, 2);
  expect(job::Precision::kBf16Mixed, 6, 4);
}

TEST_F(RankTest, TheOptimizerInHostMemoryLearnsAsTheOneOnTheDevice) {
  const auto parameters = static_cast<double>(
      job::Parameters(job::Describe(files::ReadModelConfig(plan_.job.model.path).value())));
  const auto device = Run().Points("loss");
  plan_.job.offload_optimizer = true;
  plan_.threads = 2;
  const RankEnd end = Run();
  ASSERT_EQ(end.outcome().outcome, job::Outcome::kSucceeded) << end.outcome().message;
  const auto host = end.Points("loss");
  ASSERT_EQ(host.size(), device.size());
  for (size_t step = 0; step < host.size(); ++step)
    EXPECT_NEAR(host[step].value, device[step].value, 1e-4);
  EXPECT_NEAR(end.Points("memory_optimizer_cpu_bytes")[0].value, 12 * parameters, 0.6 * parameters);
  EXPECT_EQ(end.Points("memory_optimizer_bytes")[0].value, 0);
}

TEST_F(RankTest, EightBitStatesLearnAsFp32OnesInLessMemory) {
  const auto parameters = static_cast<double>(
      job::Parameters(job::Describe(files::ReadModelConfig(plan_.job.model.path).value())));
  const auto wide = Run().Points("loss");
  plan_.job.optimizer.name = job::OptimizerKind::kAdamW8bit;
  const RankEnd end = Run();
  ASSERT_EQ(end.outcome().outcome, job::Outcome::kSucceeded) << end.outcome().message;
  const auto narrow = end.Points("loss");
  ASSERT_EQ(narrow.size(), wide.size());
  EXPECT_EQ(narrow[0].value, wide[0].value);
  EXPECT_NEAR(narrow.back().value, wide.back().value, 0.05);
  // Small tensors, of which this model has many, keep 8 bytes a parameter; the others have 2 and a
  // little.
  EXPECT_LT(end.Points("memory_optimizer_bytes")[0].value, 0.4 * 8 * parameters);
}

TEST_F(RankTest, BeyondItsMemoryLimitItEndsOutOfMemoryAndSaysWhere) {
  plan_.job.resources.gpu_memory_limit_bytes = 4 << 20;
  plan_.job.train.micro_batch_size = 16;
  const RankEnd end = Run();
  EXPECT_EQ(end.exit_code, 1);
  const job::RankOutcome outcome = end.outcome();
  EXPECT_EQ(outcome.outcome, job::Outcome::kOomGpu) << outcome.message;
  ASSERT_TRUE(outcome.oom.has_value());
  EXPECT_EQ(outcome.oom->limit_bytes, 4 << 20);
  EXPECT_GT(outcome.oom->requested_bytes, 0);
  EXPECT_GT(outcome.oom->requested_bytes + outcome.oom->memory.allocated, 4 << 20);
  EXPECT_LE(outcome.oom->memory.peak_allocated, 4 << 20);
}

TEST_F(RankTest, OutOfMemoryWhileLoadingSaysWhatWasHeldByKind) {
  const auto parameters =
      job::Parameters(job::Describe(files::ReadModelConfig(plan_.job.model.path).value()));
  // Weights take 4 bytes a parameter, AdamW's moments 8. Tensors are padded a little.
  plan_.job.resources.gpu_memory_limit_bytes = 9 * parameters;
  const job::RankOutcome outcome = Run().outcome();
  ASSERT_EQ(outcome.outcome, job::Outcome::kOomGpu) << outcome.message;
  EXPECT_EQ(job::Name(outcome.oom->phase), "loading");
  const job::MemoryByKind held = outcome.oom->memory;
  EXPECT_NEAR(static_cast<double>(held.params), 4.0 * static_cast<double>(parameters),
              0.2 * static_cast<double>(parameters));
  EXPECT_GT(held.optimizer, 2 * parameters);
  EXPECT_EQ(held.params + held.optimizer + held.other, held.allocated);
}

TEST_F(RankTest, ReservedOfACpuSlotIsWhatTheProcessHolds) {
  const RankEnd end = Run();
  const auto peaks = end.Points("memory_peak_allocated_bytes");
  const auto reserved = end.Points("memory_reserved_bytes");
  ASSERT_EQ(reserved.size(), peaks.size());
  // The program itself, its libraries' data and its heap are in it.
  EXPECT_GT(reserved.back().value, peaks.back().value + (1 << 20));
}

TEST_F(RankTest, LongWorkSaysHowFarItIs) {
  plan_.job.output.dir = folder_ / "out";
  plan_.job.output.save = job::Save::kFinal;
  const RankEnd end = Run();
  using enum job::RunPhase;
  EXPECT_EQ(end.Phases(), (std::vector{kTokenizing, kJoining, kLoading, kTraining, kEvaluating,
                                       kTraining, kSaving}));
  end.ExpectMeasured({kTokenizing, kLoading, kEvaluating, kSaving});
}

TEST_F(RankTest, BatchesAndTokensOfAnEvaluationAreCountedApart) {
  plan_.job.eval.prompts = {"Name one.", "And another."};
  plan_.job.eval.max_new_tokens = 5;
  const RankEnd end = Run();
  using enum job::RunPhase;
  EXPECT_EQ(end.Phases(), (std::vector{kTokenizing, kJoining, kLoading, kTraining, kEvaluating,
                                       kGenerating, kTraining}));
  end.ExpectMeasured({kTokenizing, kLoading, kEvaluating, kGenerating});
  EXPECT_EQ(end.MeasuredWork().back().total, 2 * 5);
}

TEST_F(RankTest, AStepThatWaitsForACheckpointSaysHowFarThatIs) {
  plan_.job.output.dir = folder_ / "out";
  plan_.job.checkpoint.every_steps = 2;
  const RankEnd end = Run();
  using enum job::RunPhase;
  EXPECT_EQ(end.Phases(),
            (std::vector{kTokenizing, kJoining, kLoading, kTraining, kSaving, kTraining,
                         kEvaluating, kTraining, kSaving, kTraining, kSaving}));
  const std::vector<RankEnd::Work> works = end.MeasuredWork();
  ASSERT_EQ(works.back().phase, kSaving);
  EXPECT_GT(works.back().total, 0);
  EXPECT_EQ(works.back().done.back(), works.back().total);
}

TEST_F(RankTest, AStopEndsItAfterTheStepAsCancelled) {
  plan_.job.train.max_steps = 100000;
  plan_.job.train.epochs = 100000;
  const RankEnd end = Run(job::ToLine(job::RankCommand(job::StopCommand{})) + "\n");
  EXPECT_EQ(end.exit_code, 0);
  EXPECT_EQ(end.outcome().outcome, job::Outcome::kCancelled);
}

TEST_F(RankTest, MissingWeightsAreCountedAndTheFirstNamed) {
  const fs::path broken = folder_ / "model";
  fs::create_directories(broken);
  for (const char* file : {"model.safetensors", "tokenizer.json"})
    fs::copy_file(fs::path(plan_.job.model.path) / file, broken / file);
  std::ifstream config(plan_.job.model.path + "/config.json");
  std::string text{std::istreambuf_iterator<char>(config), {}};
  const auto shape = files::ReadModelConfig(plan_.job.model.path).value();
  const std::string key = "\"num_hidden_layers\": ";
  text.replace(text.find(key), key.size() + std::to_string(shape.layers).size(),
               key + std::to_string(shape.layers + 1));
  std::ofstream(broken / "config.json") << text;
  plan_.job.model.path = broken;
  const job::RankOutcome outcome = Run().outcome();
  EXPECT_EQ(outcome.outcome, job::Outcome::kFailed);
  const std::string layer = "model.layers." + std::to_string(shape.layers) + ".";
  const std::string expected = "; 9 missing: " + layer + "input_layernorm.weight " + layer +
                               "self_attn.q_proj.weight " + layer + "self_attn.k_proj.weight " +
                               layer + "self_attn.v_proj.weight …";
  EXPECT_TRUE(outcome.message.ends_with(expected)) << outcome.message;
}

TEST_F(RankTest, TheFinalModelIsAHuggingFaceDirectoryWithTrainedWeights) {
  plan_.job.output.dir = folder_ / "out";
  plan_.job.output.save = job::Save::kFinal;
  const RankEnd end = Run();
  ASSERT_EQ(end.All<job::RankSaved>().size(), 1u) << end.outcome().message;
  EXPECT_GT(
      end.All<job::RankSaved>()[0].bytes,
      static_cast<int64_t>(std::filesystem::file_size(folder_ / "out" / "model.safetensors")));
  const auto before =
      files::SafetensorsFile::Open(plan_.job.model.path + "/model.safetensors").value();
  const auto after = files::SafetensorsFile::Open(folder_ / "out" / "model.safetensors").value();
  ASSERT_EQ(after.tensors().size(), before.tensors().size());
  int changed = 0;
  for (const files::TensorInfo& info : before.tensors()) {
    const files::TensorInfo* trained = after.Find(info.name);
    ASSERT_NE(trained, nullptr) << info.name;
    EXPECT_EQ(trained->shape, info.shape) << info.name;
    changed += !std::ranges::equal(after.Bytes(*trained), before.Bytes(info));
  }
  EXPECT_GT(changed, 0);
  EXPECT_TRUE(fs::exists(folder_ / "out" / "config.json"));
  EXPECT_TRUE(fs::exists(folder_ / "out" / "tokenizer.json"));
}

// Its first step makes weights that are larger than a float16's range.
TEST_F(RankTest, AWeightOutOfTheSavedTypesRangeEndsTheRunAndLeavesNoModel) {
  plan_.job.output = {
      .dir = folder_ / "out", .save = job::Save::kFinal, .dtype = job::WeightsType::kFloat16};
  plan_.job.optimizer = {.name = job::OptimizerKind::kAdamW, .lr = 1e5};
  plan_.job.train.on_nan = job::OnNan::kContinue;
  plan_.job.train.max_steps = 1;
  const RankEnd end = Run();
  EXPECT_EQ(end.outcome().outcome, job::Outcome::kFailed);
  EXPECT_NE(end.outcome().message.find("output.dir: tensor 'model."), std::string::npos)
      << end.outcome().message;
  EXPECT_TRUE(end.All<job::RankSaved>().empty());
  for (const auto& entry : fs::directory_iterator(folder_ / "out"))
    EXPECT_EQ(entry.path().filename(), ".trainctl");
}

TEST_F(RankTest, ALitGptDirectoryIsTrainedAndSavedAsAHuggingFaceDirectory) {
  const std::string baselines = checkout::File("tests/baselines/");
  const fs::path model = folder_ / "litgpt";
  fs::create_directories(model);
  fs::copy_file(baselines + "litgpt/tiny.yaml", model / "model_config.yaml");
  fs::copy_file(baselines + "pickled/litgpt/lit_model.pth", model / "lit_model.pth");
  std::vector<uint16_t> tokens(640);
  for (size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<uint16_t>(i % 10);
  std::ofstream(folder_ / "tokens.bin", std::ios::binary)
      .write(reinterpret_cast<const char*>(tokens.data()), 2 * std::ssize(tokens));
  plan_.job.model.path = model;
  plan_.job.data = {.path = folder_ / "tokens.bin", .format = job::DataFormat::kBin};
  plan_.job.output.dir = folder_ / "out";
  plan_.job.output.save = job::Save::kFinal;
  const RankEnd end = Run();
  ASSERT_EQ(end.outcome().outcome, job::Outcome::kSucceeded) << end.outcome().message;
  EXPECT_EQ(files::ModelConfigText(files::ReadModelConfig(folder_ / "out").value()),
            files::ModelConfigText(files::ReadModelConfig(model).value()));
  EXPECT_TRUE(fs::exists(folder_ / "out" / "model.safetensors"));
}

TEST_F(RankTest, LoraSavesAnAdapterAndNothingElse) {
  plan_.job.lora = job::LoraSpec{};
  plan_.job.precision = job::Precision::kBf16Mixed;
  plan_.job.output.dir = folder_ / "out";
  plan_.job.output.save = job::Save::kFinal;
  const RankEnd end = Run();
  const auto saved = end.All<job::RankSaved>();
  ASSERT_EQ(saved.size(), 1u) << end.outcome().message;
  EXPECT_EQ(saved[0].kind, "adapter");
  EXPECT_TRUE(fs::exists(folder_ / "out" / "adapter_config.json"));
  EXPECT_FALSE(fs::exists(folder_ / "out" / "model.safetensors"));
  const auto adapter =
      files::SafetensorsFile::Open(folder_ / "out" / "adapter_model.safetensors").value();
  const files::TensorInfo* b =
      adapter.Find("base_model.model.model.layers.0.self_attn.q_proj.lora_B.weight");
  ASSERT_NE(b, nullptr);
  EXPECT_EQ(b->dtype, files::DType::kF32);  // the masters
  EXPECT_TRUE(std::ranges::any_of(adapter.Bytes(*b), [](std::byte value) {
    return value != std::byte{};
  })) << "B did not train";
  EXPECT_LT(end.Points("memory_optimizer_bytes")[0].value,
            end.Points("memory_params_bytes")[0].value);
}

TEST_F(RankTest, ALoraRunIsTheSameEachTimeAndWithoutItsDropoutAnother) {
  plan_.job.lora = job::LoraSpec{.dropout = 0.3};
  const auto losses = [&] {
    std::vector<double> values;
    for (const job::MetricPoint& point : Run().Points("loss")) values.push_back(point.value);
    return values;
  };
  const std::vector<double> first = losses();
  ASSERT_EQ(first.size(), 4u);
  EXPECT_EQ(losses(), first);
  plan_.job.lora->dropout = 0;
  EXPECT_NE(losses().back(), first.back());
}

TEST_F(RankTest, QloraMergesIntoAHuggingFaceDirectoryInBf16) {
  plan_.job.lora = job::LoraSpec{};
  plan_.job.quantize = job::Quantize::kNf4Dq;
  plan_.job.precision = job::Precision::kBf16True;
  plan_.job.output.dir = folder_ / "out";
  plan_.job.output.save = job::Save::kMerged;
  const RankEnd end = Run();
  ASSERT_EQ(end.All<job::RankSaved>().size(), 1u) << end.outcome().message;
  EXPECT_EQ(end.All<job::RankSaved>()[0].kind, "merged");
  const auto before =
      files::SafetensorsFile::Open(plan_.job.model.path + "/model.safetensors").value();
  const auto merged = files::SafetensorsFile::Open(folder_ / "out" / "model.safetensors").value();
  ASSERT_EQ(merged.tensors().size(), before.tensors().size());
  for (const files::TensorInfo& info : before.tensors()) {
    const files::TensorInfo* own = merged.Find(info.name);
    ASSERT_NE(own, nullptr) << info.name;
    EXPECT_EQ(own->shape, info.shape) << info.name;
    EXPECT_EQ(own->dtype, files::DType::kBF16) << info.name;
  }
  EXPECT_TRUE(fs::exists(folder_ / "out" / "config.json"));
}

TEST_F(RankTest, ADataSetSmallerThanABatchIsSaid) {
  plan_.job.data.max_rows = 1;
  plan_.job.data.val_split_fraction = 0;
  const job::RankOutcome outcome = Run().outcome();
  EXPECT_EQ(outcome.outcome, job::Outcome::kFailed);
  EXPECT_NE(outcome.message.find("global batch"), std::string::npos) << outcome.message;
}

}  // namespace
}  // namespace trainctl::engine_test
