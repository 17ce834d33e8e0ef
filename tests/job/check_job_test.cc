#include "common/job/check_job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/job/job_json.h"
#include "tests/job/valid_job.h"

namespace trainctl::job {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> PathsOf(const JobSpec& job) {
  std::vector<std::string> paths;
  for (const Problem& problem : CheckJob(job)) paths.push_back(problem.path);
  return paths;
}

// A job changed by a function.
template <class Change>
JobSpec Job(Change change) {
  JobSpec job = SmallestJob();
  change(job);
  return job;
}

TEST(CheckJob, TheSmallestJobIsFine) { EXPECT_THAT(CheckJob(SmallestJob()), IsEmpty()); }

TEST(CheckJob, RangesHoldForJobsThatNoFileMade) {
  EXPECT_THAT(PathsOf(Job([](JobSpec& job) { job.optimizer.betas = {1, 0}; })),
              ElementsAre("optimizer.betas"));
  EXPECT_THAT(PathsOf(Job([](JobSpec& job) { job.data.val_split_fraction = -0.1; })),
              ElementsAre("data.val_split_fraction"));
  EXPECT_THAT(PathsOf(Job([](JobSpec& job) { job.model.path.clear(); })),
              ElementsAre("model.path"));
  EXPECT_THAT(PathsOf(Job([](JobSpec& job) { job.resources.priority = 101; })),
              ElementsAre("resources.priority"));
}

TEST(CheckJob, SurvivesBatchesOfNothing) {
  EXPECT_THAT(PathsOf(Job([](JobSpec& job) { job.devices = 0; })), Contains("devices"));
  EXPECT_THAT(PathsOf(Job([](JobSpec& job) { job.train.micro_batch_size = 0; })),
              Contains("train.micro_batch_size"));
}

TEST(CheckJob, SaysOnceWhatTheGlobalBatchIsAMultipleOf) {
  const std::vector<Problem> problems = CheckJob(Job([](JobSpec& job) {
    job.devices = 2;
    job.train.global_batch_size = 30;
    job.train.micro_batch_size = 8;
  }));
  EXPECT_EQ(Format(problems, "f"),
            "f: train.global_batch_size: 30: expected a multiple of micro_batch_size × devices; "
            "8 × 2 = 16 does not divide global_batch_size 30: the nearest that work are 16 or 32");
}

TEST(CheckJob, ListsAllProblemsAtOnce) {
  const JobSpec job = Job([](JobSpec& j) {
    j.name = "a/b";
    j.seed = -1;
    j.output.save = Save::kFinal;
    j.train.global_batch_size = 3;
    j.train.micro_batch_size = 2;
    j.profile = ProfileSpec{.steps = 0};
  });
  EXPECT_THAT(PathsOf(job), ElementsAre("seed", "profile.steps", "name", "train.global_batch_size",
                                        "output.dir"));
}

TEST(CheckJob, DdpOnOneDeviceIsFine) {
  EXPECT_THAT(PathsOf(Job([](JobSpec& job) { job.strategy = StrategyKind::kDdp; })), IsEmpty());
}

TEST(CheckJob, SingleOnTwoDevicesIsNot) {
  EXPECT_THAT(PathsOf(Job([](JobSpec& job) {
                job.strategy = StrategyKind::kSingle;
                job.devices = 2;
              })),
              ElementsAre("strategy"));
}

TEST(CheckJob, PromptsAreMaskedWhereRowsHaveThem) {
  EXPECT_THAT(PathsOf(Job([](JobSpec& job) { job.data.mask_prompt = true; })), IsEmpty());
  EXPECT_THAT(PathsOf(Job([](JobSpec& job) {
                job.data.mask_prompt = true;
                job.data.format = DataFormat::kChat;
              })),
              IsEmpty());
  EXPECT_THAT(PathsOf(Job([](JobSpec& job) {
                job.data.mask_prompt = true;
                job.data.format = DataFormat::kBin;
              })),
              ElementsAre("data.mask_prompt"));
}

TEST(CheckJob, ATemplateIsForConversationsOnly) {
  const auto with = [](DataFormat format) {
    JobSpec job = Job([](JobSpec& changed) { changed.data.chat_template = ChatTemplate::kQwen; });
    job.data.format = format;
    return PathsOf(job);
  };
  EXPECT_THAT(with(DataFormat::kChat), IsEmpty());
  EXPECT_THAT(with(DataFormat::kText), ElementsAre("data.template"));
}

TEST(CheckJob, ColumnsAreThoseOfTheFormat) {
  const auto with = [](DataFormat format, std::map<std::string, std::string> columns) {
    JobSpec job = SmallestJob();
    job.data.format = format;
    job.data.columns = std::move(columns);
    return PathsOf(job);
  };
  EXPECT_THAT(with(DataFormat::kAlpaca, {{"input", "context"}, {"output", "answer"}}), IsEmpty());
  EXPECT_THAT(with(DataFormat::kCompletion, {{"prompt", "q"}, {"completion", "a"}}), IsEmpty());
  EXPECT_THAT(with(DataFormat::kChat, {{"messages", "dialog"}}), IsEmpty());
  EXPECT_THAT(with(DataFormat::kCaptions, {{"image", "path"}, {"text", "caption"}}), IsEmpty());
  EXPECT_THAT(with(DataFormat::kText, {{"text", "caption"}, {"output", "x"}}),
              ElementsAre("data.columns.output"));
  EXPECT_THAT(with(DataFormat::kText, {{"text", ""}}), ElementsAre("data.columns.text"));
  EXPECT_THAT(with(DataFormat::kBin, {{"text", "caption"}}), ElementsAre("data.columns.text"));
}

TEST(CheckJob, OnlyAJobThatTrainsIsProfiled) {
  const auto profiled = [](int64_t max_steps) {
    return PathsOf(Job([&](JobSpec& job) {
      job.profile.emplace();
      job.train.max_steps = max_steps;
      job.eval.prompts = {"Once"};
    }));
  };
  EXPECT_THAT(profiled(8), IsEmpty());
  EXPECT_THAT(profiled(0), ElementsAre("profile"));
}

TEST(CheckJob, ATraceIsWrittenToItsFolder) {
  const auto notes = [](bool profiles) {
    return NotesOn(Job([&](JobSpec& job) {
      job.output.dir = "/out";
      if (profiles) job.profile.emplace();
    }));
  };
  EXPECT_THAT(notes(false), Contains(HasSubstr("nothing is written to output.dir")));
  EXPECT_THAT(notes(true), IsEmpty());
}

TEST(CheckJob, SavingAnAdapterNeedsOne) {
  const auto problems =
      CheckJob(Job([](JobSpec& job) { job.output = {.dir = "out", .save = Save::kMerged}; }));
  EXPECT_THAT(problems.at(0).hint, HasSubstr("there is no adapter"));
}

TEST(CheckJob, QuantizedWeightsNeedAnAdapter) {
  EXPECT_THAT(CheckJob(Job([](JobSpec& job) { job.quantize = Quantize::kNf4; })).at(0).hint,
              HasSubstr("can't be trained"));
}

TEST(IsUsableName, TakesWhatCommandsCanTellFromIds) {
  for (const char* name : {"a", "tiny-bf16", "j", "job1", "j1x", "1", "Ünïcode name", "g"})
    EXPECT_TRUE(IsUsableName(name)) << name;
  for (const char* name :
       {"", "j1", "g12", "j007", "a/b", "a\nb", "a\x7f", "\xff", "-o", "..", "a\u202e"})
    EXPECT_FALSE(IsUsableName(name)) << name;
  EXPECT_TRUE(IsUsableName(std::string(128, 'x')));
  EXPECT_FALSE(IsUsableName(std::string(129, 'x')));
}

TEST(ResolveJob, AutoIsSingleOnOneDeviceAndDdpOnMore) {
  EXPECT_EQ(ResolveJob(SmallestJob()).strategy, StrategyKind::kSingle);
  EXPECT_EQ(ResolveJob(Job([](JobSpec& job) { job.devices = 2; })).strategy, StrategyKind::kDdp);
}

TEST(ResolveJob, WhatIsNamedStays) {
  EXPECT_EQ(ResolveJob(Job([](JobSpec& job) { job.strategy = StrategyKind::kDdp; })).strategy,
            StrategyKind::kDdp);
}

TEST(NotesOn, AWarmupThatOutlastsTheRunIsNoError) {
  const JobSpec job = Job([](JobSpec& j) {
    j.train.max_steps = 10;
    j.train.lr_warmup_steps = 100;
  });
  EXPECT_THAT(CheckJob(job), IsEmpty());
  EXPECT_THAT(NotesOn(job), Contains(HasSubstr("the warm-up (100 steps) is longer than the run")));
}

TEST(NotesOn, SettingsWithoutEffectAreSaid) {
  EXPECT_THAT(NotesOn(Job([](JobSpec& job) { job.sharding = Sharding::kGradOp; })),
              Contains(HasSubstr("no effect without strategy fsdp")));
  EXPECT_THAT(NotesOn(Job([](JobSpec& job) { job.optimizer.momentum = 0.9; })),
              Contains(HasSubstr("optimizer.momentum")));
  EXPECT_THAT(NotesOn(Job([](JobSpec& job) { job.eval.every_steps = 5; })),
              Contains(HasSubstr("no evaluation")));
  EXPECT_THAT(NotesOn(Job([](JobSpec& job) { job.output.dir = "out"; })),
              Contains(HasSubstr("nothing is written to output.dir")));
}

TEST(NotesOn, WhoGivesWayWithoutCheckpointsBeginsAnew) {
  JobSpec job = Job([](JobSpec& changed) { changed.resources.preemptible = true; });
  const auto note = HasSubstr("gives way to another job it begins again at step 0");
  EXPECT_THAT(NotesOn(job), Contains(note));
  job.checkpoint.every_steps = 5;
  EXPECT_THAT(NotesOn(job), testing::Not(Contains(note)));
}

TEST(NotesOn, ALeaseThatEndsBeforeAJobWithoutCheckpointsTakesWhatItDid) {
  JobSpec job = Job([](JobSpec& changed) { changed.resources.lease = "lab2"; });
  const auto note = HasSubstr("what it did is lost if its lease ends before it");
  EXPECT_THAT(NotesOn(job), Contains(note));
  job.checkpoint.every_steps = 5;
  EXPECT_THAT(NotesOn(job), testing::Not(Contains(note)));
}

TEST(NotesOn, AJobThatKeepsItsModelHasNone) {
  EXPECT_THAT(NotesOn(Job([](JobSpec& job) { job.output = {.dir = "out", .save = Save::kFinal}; })),
              IsEmpty());
}

}  // namespace
}  // namespace trainctl::job
