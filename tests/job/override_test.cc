#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/job/valid_job.h"

namespace trainctl::job {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

JobSpec With(std::vector<Override> overrides, std::string_view text = kSmallestJob) {
  const ReadJob read = Read(text, std::move(overrides));
  EXPECT_THAT(read.problems, IsEmpty()) << Format(read.problems, "job.json");
  return read.job.value_or(JobSpec{});
}

Problem Refused(Override override) {
  const ReadJob read = Read(kSmallestJob, {std::move(override)});
  EXPECT_EQ(read.problems.size(), 1u) << Format(read.problems, "job.json");
  return read.problems.empty() ? Problem{} : read.problems.front();
}

TEST(Overrides, AreTypedByTheirKey) {
  EXPECT_EQ(With({{"train.micro_batch_size", "8"}}).train.micro_batch_size, 8);
  EXPECT_EQ(With({{"optimizer.lr", "1e-5"}}).optimizer.lr, 1e-5);
  EXPECT_TRUE(With({{"deterministic", "true"}}).deterministic);
  EXPECT_EQ(With({{"precision", "bf16-true"}}).precision, Precision::kBf16True);
  EXPECT_EQ(With({{"resources.time_limit", "2h"}}).resources.time_limit_seconds, 7200);
  EXPECT_EQ(With({{"resources.gpu_memory_limit", "40GiB"}}).resources.gpu_memory_limit_bytes,
            int64_t{40} << 30);
  EXPECT_EQ(With({{"optimizer.betas", "[0.8, 0.9]"}}).optimizer.betas[0], 0.8);
}

TEST(Overrides, TheBeginningOfOneKeyHintsAtIt) {
  EXPECT_EQ(Refused({"train.micro", "4"}).hint, "did you mean 'micro_batch_size'?");
  EXPECT_EQ(Refused({"micro", "4"}).hint, "did you mean 'train.micro_batch_size'?");
  EXPECT_EQ(Refused({"train.m", "4"}).hint, "");  // several
}

TEST(Overrides, AListIsTypedAsWordsWithCommas) {
  EXPECT_THAT(With({{"track", "tensorboard"}, {"output.dir", "out"}}).track,
              ElementsAre("tensorboard"));
  EXPECT_THAT(With({{"track", ""}}).track, IsEmpty());
  EXPECT_THAT(With({{"lora.targets", "q,v"}}).lora.value().targets, ElementsAre("q", "v"));
  EXPECT_THAT(With({{"lora.targets", R"(["k"])"}}).lora.value().targets, ElementsAre("k"));
  EXPECT_EQ(Refused({"lora.targets", "q,vv"}).hint, "did you mean 'v'?");
  EXPECT_EQ(Refused({"lora.targets", R"(["q", "vv"])"}).value, R"(["q","vv"])");
  EXPECT_THAT(
      With({{"eval.prompts", "Once, long ago"}, {"data.val_split_fraction", "0.1"}}).eval.prompts,
      ElementsAre("Once, long ago"))
      << "a prompt has commas of its own";
  const JobSpec job = With(
      {{"eval.images", "a.jpg,b.jpg"}, {"eval.prompts", R"(["", ""])"}, {"train.max_steps", "0"}});
  EXPECT_EQ(job.eval.images.size(), 2u);
}

TEST(Overrides, JsonThatIsNoListOfTextsIsNoTextOfAList) {
  const auto with_prompts = [](std::string text) {
    return With({{"eval.prompts", std::move(text)}, {"data.val_split_fraction", "0.1"}})
        .eval.prompts;
  };
  EXPECT_THAT(with_prompts(R"("Hi, \"you\"")"), ElementsAre(R"(Hi, "you")"));
  EXPECT_THAT(with_prompts("Hi, \"you\""), ElementsAre(R"(Hi, "you")"));
  EXPECT_THAT(With({{"lora.targets", R"("q,v")"}}).lora.value().targets, ElementsAre("q", "v"));
  for (const char* text : {"null", "5", "true", R"({"a":1})", "[1,2]"}) {
    for (const char* key : {"eval.prompts", "eval.images", "lora.targets"}) {
      const Problem problem = Refused({key, text});
      EXPECT_EQ(problem.path, std::string("--set ") + key);
      EXPECT_EQ(problem.value, text);
    }
  }
}

TEST(Overrides, AListAsTextStaysText) { EXPECT_EQ(With({{"notes", "[1,2]"}}).notes, "[1,2]"); }

TEST(Overrides, NullIsNullWhereTheKeyMayBeNull) {
  EXPECT_EQ(With({{"train.max_steps", "5"}, {"train.max_steps", "null"}}).train.max_steps,
            std::nullopt);
  EXPECT_EQ(With({{"name", "null"}}).name, "null");
}

TEST(Overrides, AStringThatLooksLikeANumberStaysAString) {
  EXPECT_EQ(With({{"name", "8"}}).name, "8");
  EXPECT_EQ(With({{"notes", "true"}}).notes, "true");
}

TEST(Overrides, NameAnEntryOfAMap) {
  const JobSpec job = With({{"tags.lab", "2"}, {"resources.constraints.gpu.memory", ">=40GiB"}});
  EXPECT_EQ(job.tags.at("lab"), "2");
  EXPECT_EQ(job.resources.constraints.at("gpu.memory"), ">=40GiB");
}

TEST(Overrides, SetAWholeSectionByJson) {
  const JobSpec job = With({{"train", R"({"epochs": 3, "max_steps": 7})"}});
  EXPECT_EQ(job.train.epochs, 3);
  EXPECT_EQ(job.train.max_steps, 7);
  EXPECT_EQ(job.train.micro_batch_size, 1);
}

TEST(Overrides, GiveWhatTheFileDoesNot) {
  EXPECT_EQ(With({{"model.path", "m"}, {"train.micro_batch_size", "2"}},
                 R"({"version": 1, "data": {"path": "d"}})")
                .train.micro_batch_size,
            2);
}

TEST(Overrides, TheLastOfOneKeyCounts) {
  EXPECT_EQ(With({{"devices", "2"}, {"devices", "3"}}).devices, 3);
}

TEST(Overrides, OneOfAnExclusivePairClearsTheOther) {
  constexpr char kGlobal[] = R"({"version": 1, "model": {"path": "m"}, "data": {"path": "d"},
    "train": {"micro_batch_size": 1, "global_batch_size": 8, "lr_warmup_steps": 5}})";
  const JobSpec job =
      With({{"train.accumulate_grad_batches", "4"}, {"train.lr_warmup_fraction", "0.1"}}, kGlobal);
  EXPECT_EQ(job.train.accumulate_grad_batches, 4);
  EXPECT_EQ(job.train.global_batch_size, std::nullopt);
  EXPECT_EQ(job.train.lr_warmup_fraction, 0.1);
  EXPECT_EQ(job.train.lr_warmup_steps, std::nullopt);
}

TEST(Overrides, NullClearsOnlyItself) {
  constexpr char kGlobal[] =
      R"({"version": 1, "model": {"path": "m"}, "data": {"path": "d"}, "train": {"micro_batch_size": 1, "global_batch_size": 8}})";
  EXPECT_EQ(With({{"train.accumulate_grad_batches", "null"}}, kGlobal).train.global_batch_size, 8);
}

TEST(Overrides, BothOfAnExclusivePairAreRefused) {
  const ReadJob read = Read(
      kSmallestJob, {{"train.global_batch_size", "8"}, {"train.accumulate_grad_batches", "4"}});
  ASSERT_EQ(read.problems.size(), 1u);
  EXPECT_EQ(read.problems[0].path, "--set train.accumulate_grad_batches");
  EXPECT_THAT(read.problems[0].expected, HasSubstr("only one of"));
}

TEST(Overrides, AProblemNamesTheOverrideAndNoLine) {
  const Problem problem = Refused({"train.micro_batch_size", "many"});
  EXPECT_EQ(problem.path, "--set train.micro_batch_size");
  EXPECT_EQ(problem.line, 0);
  EXPECT_EQ(problem.value, "\"many\"");
  EXPECT_THAT(problem.expected, HasSubstr("\"auto\""));
}

TEST(Overrides, UnknownKeysGetASuggestion) {
  EXPECT_THAT(Refused({"train.micro_bach_size", "8"}).hint, HasSubstr("'micro_batch_size'"));
  EXPECT_THAT(Refused({"micro_batch_size", "8"}).hint, HasSubstr("'train.micro_batch_size'"));
  EXPECT_THAT(Refused({"", "8"}).expected, HasSubstr("a key of a job"));
}

TEST(Overrides, WhatTheCheckFindsInOneNamesIt) {
  const Problem problem = Refused({"quantize", "nf4"});
  EXPECT_EQ(problem.path, "--set quantize");
  EXPECT_THAT(problem.hint, HasSubstr("add \"lora\": {}"));
}

TEST(Overrides, RepairAFileWhoseValueTheyReplace) {
  constexpr char kSingle[] =
      R"({"version": 1, "model": {"path": "m"}, "data": {"path": "d"}, "train": {"micro_batch_size": 1},
          "devices": 2, "strategy": "single"})";
  EXPECT_EQ(With({{"strategy", "auto"}}, kSingle).strategy, StrategyKind::kAuto);
}

}  // namespace
}  // namespace trainctl::job
