#include "common/job/job_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/job/valid_job.h"

namespace trainctl::job {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

// A job that names every key.
constexpr char kWholeJob[] =
    R"({"$schema": "../job.schema.json", "version": 1, "name": "tiny-bf16", "tags": {"lab": "2"}, "notes": "n",
 "model": {"path": "models/TinyLlama-1.1B", "init": "random"},
 "data": {"path": "data/alpaca_2k.json", "format": "text", "max_rows": 10, "val_split_fraction": 0.05, "mask_prompt": false, "seed": 7},
 "precision": "bf16-true", "devices": 4, "exclusive": true,
 "engine": "reference", "deterministic": true,
 "strategy": "ddp", "sharding": "grad_op", "fsdp_unit": "model", "offload_optimizer": false, "activation_checkpointing": false,
 "train": {"global_batch_size": 32, "micro_batch_size": 8, "epochs": 2, "max_steps": 5, "max_seq_length": 128,
           "lr_schedule": "linear", "lr_warmup_steps": 100, "lr_warmup_fraction": null, "max_norm": 1},
 "optimizer": {"name": "sgd", "lr": 2e-3, "lr_scaling": "linear", "weight_decay": 0.1, "betas": [0.8, 0.9], "eps": 1e-7, "momentum": 0.5},
 "lora": null, "quantize": null, "seed": 1,
 "eval": {"every_steps": 25, "max_rows": 3,
          "prompts": ["Once", ""], "max_new_tokens": 8, "temperature": 0.5},
 "output": {"dir": "out", "save": "final"}, "checkpoint": {"every_steps": null, "keep_last": 3, "keep_best": true}, "profile": null,
 "resources": {"gpu_memory_limit": "80GB", "constraints": {"gpu.memory": ">=40GiB", "gpu.compute_capability": ">=8.0"},
               "time_limit": "2h", "step_timeout": "5min", "priority": 60, "max_restarts": 2, "after": null, "lease": null},
 "expect": "OOM"})";

TEST(ReadJobFile, ReadsEveryKey) {
  const ReadJob read = Read(kWholeJob);
  ASSERT_THAT(read.problems, IsEmpty()) << Format(read.problems, "job.json");
  const JobSpec& job = *read.job;
  EXPECT_EQ(job.name, "tiny-bf16");
  EXPECT_EQ(job.tags, (std::map<std::string, std::string>{{"lab", "2"}}));
  EXPECT_EQ(job.model.init, ModelInit::kRandom);
  EXPECT_EQ(job.data.format, DataFormat::kText);
  EXPECT_EQ(job.data.max_rows, 10);
  EXPECT_EQ(job.data.val_split_fraction, 0.05);
  EXPECT_EQ(job.precision, Precision::kBf16True);
  EXPECT_EQ(job.engine, EngineKind::kReference);
  EXPECT_TRUE(job.exclusive);
  EXPECT_TRUE(job.deterministic);
  EXPECT_EQ(job.sharding, Sharding::kGradOp);
  EXPECT_EQ(job.fsdp_unit, FsdpUnit::kModel);
  EXPECT_EQ(job.train.global_batch_size, 32);
  EXPECT_EQ(job.train.max_norm, 1.0);
  EXPECT_EQ(job.train.lr_schedule, LrSchedule::kLinear);
  EXPECT_EQ(job.optimizer.name, OptimizerKind::kSgd);
  EXPECT_EQ(job.optimizer.betas, (std::array<double, 2>{0.8, 0.9}));
  EXPECT_EQ(job.eval.every_steps, 25);
  EXPECT_EQ(job.eval.prompts, (std::vector<std::string>{"Once", ""}));
  EXPECT_EQ(job.eval.max_new_tokens, 8);
  EXPECT_EQ(job.eval.temperature, 0.5);
  EXPECT_EQ(job.output.dir, "out");
  EXPECT_TRUE(job.checkpoint.keep_best);
  EXPECT_EQ(job.resources.gpu_memory_limit_bytes, 80'000'000'000);
  EXPECT_EQ(job.resources.time_limit_seconds, 7200);
  EXPECT_EQ(job.resources.step_timeout_seconds, 300);
  EXPECT_EQ(job.resources.constraints.at("gpu.compute_capability"), ">=8.0");
  EXPECT_EQ(job.expect, Expect::kOom);
}

TEST(ReadJobFile, TheSmallestJobHasTheDefaults) {
  const ReadJob read = Read(kSmallestJob);
  ASSERT_THAT(read.problems, IsEmpty()) << Format(read.problems, "job.json");
  EXPECT_EQ(ToJson(*read.job), ToJson(SmallestJob()));
  EXPECT_EQ(read.job->devices, 1);
  EXPECT_EQ(read.job->strategy, StrategyKind::kAuto);
  EXPECT_EQ(read.job->precision, Precision::k32True);
  EXPECT_EQ(read.job->resources.step_timeout_seconds, 600);
}

TEST(ReadJobFile, TheNameIsTheFilesUnlessGiven) {
  EXPECT_EQ(Read(kSmallestJob).job->name, "job");
  EXPECT_EQ(Read(kWholeJob).job->name, "tiny-bf16");
}

TEST(ReadJobFile, AnswersAloneAreTrainedWhereAFileOfThemIsSilent) {
  const auto masks = [](const std::string& data) {
    const std::string text = R"({"version": 1, "model": {"path": "m"},
        "train": {"micro_batch_size": 1}, "data": {"path": "d")" +
                             data + "}}";
    return Read(text).job->data.mask_prompt;
  };
  EXPECT_TRUE(masks(R"(, "format": "chat")"));
  EXPECT_FALSE(masks(R"(, "format": "chat", "mask_prompt": false)"));
  EXPECT_TRUE(masks(R"(, "format": "completion")"));
  EXPECT_FALSE(masks(R"(, "format": "text")"));
}

TEST(ReadJobFile, RelativePathsAreRelativeToTheFile) {
  const ReadJob read = ReadJobFile(kWholeJob, {.base_directory = "/lab/jobs"});
  EXPECT_EQ(read.job->model.path, "/lab/jobs/models/TinyLlama-1.1B");
  EXPECT_EQ(read.job->data.path, "/lab/jobs/data/alpaca_2k.json");
  EXPECT_EQ(read.job->output.dir, "/lab/jobs/out");
}

TEST(ReadJobFile, PathsAreNormalizedAndAbsoluteOnesStay) {
  const ReadJob read = ReadJobFile(
      R"({"version": 1, "model": {"path": "../m"}, "data": {"path": "/d/x"}, "train": {"micro_batch_size": 1}})",
      {.base_directory = "/lab/jobs"});
  EXPECT_EQ(read.job->model.path, "/lab/m");
  EXPECT_EQ(read.job->data.path, "/d/x");
}

TEST(ReadJobFile, ATildeIsNoFolder) {
  const ReadJob read =
      ReadJobFile(R"({"version": 1, "model": {"path": "~/m"}, "data": {"path": "~x"},)"
                  R"( "train": {"micro_batch_size": 1}})",
                  {.base_directory = "/lab", .overrides = {{"output.dir", "~/out"}}});
  ASSERT_EQ(read.problems.size(), 2u) << Format(read.problems, "");
  EXPECT_EQ(read.problems[0].path, "--set output.dir");
  EXPECT_EQ(read.problems[1].path, "model.path");
  EXPECT_EQ(read.problems[1].line, 1);
}

TEST(ReadJobFile, ReadsLitGptsSpellingOfQuantize) {
  std::string text = ToJson(SmallestJob());
  text.replace(text.find("\"quantize\":null"), 15, "\"quantize\":\"bnb.nf4-dq\"");
  EXPECT_EQ(FromJson(text)->quantize, Quantize::kNf4Dq);
}

TEST(ReadJobFile, SaysWhereNothingIsKept) {
  EXPECT_THAT(Read(kSmallestJob).notes, Contains(HasSubstr("nothing is kept")));
}

TEST(ReadJobFile, APromptThatIsNoTextOrTooLongIsRefusedByItsKey) {
  const auto problems_of = [](const std::string& prompts) {
    std::string text = ToJson(SmallestJob());
    text.replace(text.find("\"prompts\":[]"), 12, "\"prompts\":" + prompts);
    return Format(ReadJobFile(text, {}).problems, "job.json");
  };
  const std::string expected = "expected a list of at most 64 strings, each of at most 4096 bytes";
  for (const std::string& wrong :
       {std::string("\"Once\""), std::string("[1]"), "[\"" + std::string(4097, 'x') + "\"]"}) {
    EXPECT_THAT(problems_of(wrong), HasSubstr("eval.prompts"));
    EXPECT_THAT(problems_of(wrong), HasSubstr(expected));
  }
  std::string many = "[\"\"";
  for (int i = 0; i < 64; ++i) many += ",\"\"";
  EXPECT_THAT(problems_of(many + "]"), HasSubstr(expected));
}

TEST(ToJson, HasEveryKeyInTheSchemasOrder) {
  const std::string text = ToJson(SmallestJob());
  EXPECT_THAT(
      text,
      testing::StartsWith(
          R"({"version":1,"name":"job","tags":{},"notes":"","model":{"path":"m","init":"pretrained"},"data":{)"));
  EXPECT_THAT(
      text,
      HasSubstr(
          R"("optimizer":{"name":"adamw","lr":0.0002,"lr_scaling":"none","weight_decay":0.0,"betas":[0.9,0.95],"eps":1e-08,)"));
  EXPECT_THAT(
      text,
      HasSubstr(
          R"("lora":null,"quantize":null,"freeze":[],"eval":{"every_steps":null,"max_rows":null,)"));
  EXPECT_THAT(text,
              HasSubstr(R"("prompts":[],"raw_prompts":false,"images":[],"max_new_tokens":64,)"));
  EXPECT_THAT(text,
              testing::EndsWith(R"("max_restarts":0,"after":null,"lease":null},"expect":null})"));
}

TEST(ToJson, SizesAndDurationsAreSpelledForPeople) {
  const std::string text = ToJson(*Read(kWholeJob).job);
  EXPECT_THAT(text, HasSubstr(R"("gpu_memory_limit":"80GB")"));
  EXPECT_THAT(text, HasSubstr(R"("time_limit":"2h","step_timeout":"5min")"));
}

TEST(ToJson, SectionsThatArePresentHaveTheirKeys) {
  JobSpec job = SmallestJob();
  job.lora.emplace().targets = {"q", "v"};
  EXPECT_THAT(ToJson(job),
              HasSubstr(R"("lora":{"r":32,"alpha":16.0,"dropout":0.05,"targets":["q","v"]})"));
  EXPECT_EQ(FromJson(ToJson(job))->lora->targets, (std::vector<std::string>{"q", "v"}));
}

TEST(FromJson, ListsTheProblems) {
  const auto job = FromJson(R"({"version": 1, "model": {}, "devices": 0})");
  ASSERT_FALSE(job.ok());
  EXPECT_EQ(job.error().code, base::Code::kInvalid);
  EXPECT_THAT(job.error().message, HasSubstr("model.path"));
  EXPECT_THAT(job.error().message, HasSubstr("devices"));
  EXPECT_THAT(job.error().message, HasSubstr("train.micro_batch_size"));
}

TEST(Flatten, GivesDottedKeysAndBareTexts) {
  const auto settings = Flatten(*Read(kWholeJob).job);
  EXPECT_EQ(settings.front(), (std::pair<std::string, std::string>("version", "1")));
  EXPECT_THAT(settings, Contains(Pair("train.micro_batch_size", "8")));
  EXPECT_THAT(settings, Contains(Pair("precision", "bf16-true")));
  EXPECT_THAT(settings, Contains(Pair("optimizer.betas", "[0.8,0.9]")));
  EXPECT_THAT(settings, Contains(Pair("resources.gpu_memory_limit", "80GB")));
  EXPECT_THAT(settings, Contains(Pair("train.lr_warmup_fraction", "null")));
  EXPECT_THAT(settings, Contains(Pair("tags.lab", "2")));
  EXPECT_THAT(settings, Contains(Pair("lora", "null")));
}

TEST(Flatten, IsUnderstoodAsOverrides) {
  const JobSpec job = *Read(kWholeJob).job;
  std::vector<Override> overrides;
  for (const auto& [key, value] : Flatten(job)) overrides.push_back({key, value});
  const ReadJob read = Read(kSmallestJob, overrides);
  ASSERT_THAT(read.problems, IsEmpty()) << Format(read.problems, "job.json");
  EXPECT_EQ(ToJson(*read.job), ToJson(job));
}

}  // namespace
}  // namespace trainctl::job
