// What is warned of, and which losses are compared all the same.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "tests/compare/sample_runs.h"

namespace trainctl::compare {
namespace {

TEST(Comparability, LossesThatAreNotComparableHaveNeitherPercentageNorStar) {
  Column a = SomeRun("j1", "a"), b = SomeRun("j2", "b");
  a.metrics = With(Loop(8, 10, 64, 64), {Summary("loss", 2), Summary("val_loss", 2)});
  b.metrics = With(Loop(8, 10, 64, 64), {Summary("loss", 1), Summary("val_loss", 1)});
  EXPECT_EQ(PrintRow(Compare({a, b}, 0), "loss"), "loss/loss: 2 | 1 Δ-0.500 best\n");
  Column other_data = b, less = b, other_rows = b;
  other_data.inspection->data_digest = "d2";
  EXPECT_EQ(PrintRow(Compare({a, other_data}, 0), "loss"), "loss/loss: 2 | 1\n");
  EXPECT_EQ(PrintRow(Compare({a, other_data}, 0), "val_loss"), "loss/val_loss: 2 | 1\n");
  less.metrics = With(Loop(4, 5, 32, 32), {Summary("loss", 1)});
  EXPECT_EQ(PrintRow(Compare({a, less}, 0), "loss"), "loss/loss: 2 | 1\n");
  a.job.data.val_split_fraction = other_rows.job.data.val_split_fraction = 0.5;
  other_rows.job.eval.max_rows = 1;
  EXPECT_EQ(PrintRow(Compare({a, other_rows}, 0), "loss"), "loss/loss: 2 | 1 Δ-0.500 best\n");
  EXPECT_EQ(PrintRow(Compare({a, other_rows}, 0), "val_loss"), "loss/val_loss: 2 | 1\n");
}

TEST(Comparability, WarnsOfOtherRowsThatValidateWhereverTheyLie) {
  Column a = SomeRun("j1", "a"), b = SomeRun("j2", "b");
  a.job.data.val_path = b.job.data.val_path = "/data/test.json";
  b.job.eval.max_rows = 1;
  const std::vector<std::string> warnings = WarningsOf(Compare({a, b}, 0));
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_EQ(warnings[0].find("eval.max_rows differs"), 0u) << warnings[0];
}

TEST(Comparability, RunsThatLeaveOutOtherNumbersOfRowsHaveLossesThatAreNotCompared) {
  Column a = SomeRun("j1", "a"), b = SomeRun("j2", "b");
  a.metrics = With(Loop(8, 10, 64, 64), {Summary("loss", 2)});
  b.metrics = With(Loop(8, 10, 64, 64), {Summary("loss", 1), Summary("skipped_rows", 0)});
  EXPECT_TRUE(Compare({a, b}, 0).warnings.empty()) << "none is left out of either";
  b.metrics.back() = Summary("skipped_rows", 3);
  const Table table = Compare({a, b}, 0);
  EXPECT_EQ(WarningsOf(table),
            std::vector<std::string>{"other numbers of rows are left out, whose pictures can't be "
                                     "read (j1 0, j2 3): losses are not comparable"});
  EXPECT_EQ(PrintRow(table, "loss"), "loss/loss: 2 | 1\n");
  EXPECT_EQ(PrintRow(table, "skipped_rows"), "time/skipped_rows: - | 3\n");
}

TEST(Comparability, ARunThatGoesOnIsWarnedOfWithTheStepsBefore) {
  Column a = SomeRun("j1", "a"), b = SomeRun("j2", "b");
  a.metrics = b.metrics = With(Loop(2, 1, 16, 16), {Summary("loss", 2)});
  b.metrics.back() = Summary("loss", 1);
  b.job.checkpoint.resume_from = "/out/checkpoints";
  b.job.checkpoint.resume_job = "j9";
  b.inspection->resume_step = 2;
  const Table table = Compare({a, b}, 0);
  EXPECT_EQ(WarningsOf(table),
            std::vector<std::string>{"b (j2) goes on from a checkpoint of j9, and its model had 2 "
                                     "steps before: losses are not comparable"});
  EXPECT_EQ(PrintRow(table, "loss"), "loss/loss: 2 | 1\n");
  a.job.checkpoint = b.job.checkpoint;
  a.inspection->resume_step = 2;
  EXPECT_TRUE(Compare({a, b}, 0).warnings.empty()) << "both go on from one checkpoint";
}

TEST(Comparability, WarnsOfDataBatchMachineAndRestarts) {
  Column a = SomeRun("j1", "a"), b = SomeRun("j2", "b");
  b.inspection->data_digest = "d2";
  b.job.train.global_batch_size = 16;
  b.device_name = "NVIDIA A100";
  b.attempts = 2;
  a.driver = b.driver = "580.1";
  const std::vector<std::string> expected = {
      "the data differ (other bytes in the file): losses are not comparable",
      "the global batch differs (8, 16) without a learning-rate rule: fewer, larger steps at the "
      "same lr, unless optimizer.lr_scaling is \"linear\"; losses are not comparable",
      "the device differs (NVIDIA H200, NVIDIA A100): time and memory are of different hardware",
      "b (j2) was restarted (2 attempts): its time is not that of one undisturbed run"};
  EXPECT_EQ(WarningsOf(Compare({a, b}, 0)), expected);
}

TEST(Comparability, WarnsOfEachSettingThatMakesOtherDataOfTheSameFile) {
  struct Case {
    std::string warning;
    void (*change)(job::JobSpec&);
  };
  const Case cases[] = {
      {"data.format differs (alpaca, text): the rows are read in another way",
       [](job::JobSpec& job) { job.data.format = job::DataFormat::kText; }},
      {"data.columns differs (none, output answer): other columns of the rows are read",
       [](job::JobSpec& job) { job.data.columns = {{"output", "answer"}}; }},
      {"data.template differs (null, zephyr): the conversations are written in another way",
       [](job::JobSpec& job) { job.data.chat_template = job::ChatTemplate::kZephyr; }},
      {"data.max_rows differs (null, 100): one has rows that another never sees",
       [](job::JobSpec& job) { job.data.max_rows = 100; }},
      {"data.val_split_fraction differs (0.0, 0.5): other rows are trained on and validated with",
       [](job::JobSpec& job) { job.data.val_split_fraction = 0.5; }},
      {"data.mask_prompt differs (false, true): other tokens count in the loss",
       [](job::JobSpec& job) { job.data.mask_prompt = true; }},
      {"train.group_by_length differs (false, true): the rows come in another order",
       [](job::JobSpec& job) { job.train.group_by_length = true; }},
      {"train.packing differs (false, true): a step has other rows, and another number of them",
       [](job::JobSpec& job) { job.train.packing = true; }},
      {"data.seed differs (42, 43): the rows are split and shuffled in another way",
       [](job::JobSpec& job) { job.data.seed = 43; }},
  };
  for (const Case& c : cases) {
    Column a = SomeRun("j1", "a"), b = SomeRun("j2", "b");
    c.change(b.job);
    EXPECT_EQ(WarningsOf(Compare({a, b}, 0)),
              std::vector{c.warning + "; losses are not comparable"});
  }
}

TEST(Comparability, TwoRevisionsOfOneModelAreAChangeAndWarnedOf) {
  Column a = SomeRun("j1", "a"), b = SomeRun("j2", "b"), unknown = SomeRun("j3", "c");
  for (Column* run : {&a, &b, &unknown}) run->job.model.path = "Qwen/Qwen3-0.6B";
  a.inspection->model_revision = b.inspection->model_revision = "c1899de";
  EXPECT_TRUE(Compare({a, b, unknown}, 0).warnings.empty());
  EXPECT_EQ(Compare({a, b}, 0).same.front(), "model Qwen/Qwen3-0.6B");
  b.inspection->model_revision = "0123456";
  const Table table = Compare({a, b, unknown}, 0);
  EXPECT_EQ(Print(table.rows.front()), "changed/model.revision: c1899de | 0123456 | -\n");
  EXPECT_EQ(WarningsOf(table),
            std::vector<std::string>{"the revision of Qwen/Qwen3-0.6B differs (c1899de, 0123456): "
                                     "the runs began with other weights; losses are not "
                                     "comparable"});
  b.job.model.path = "Qwen/Qwen3-1.7B";
  EXPECT_TRUE(Compare({a, b}, 0).warnings.empty()) << "another model is a setting";
}

TEST(Comparability, WarnsOfRunsThatValidateWithOtherRows) {
  Column a = SomeRun("j1", "a"), b = SomeRun("j2", "b");
  b.job.eval.max_rows = 100;
  EXPECT_TRUE(Compare({a, b}, 0).warnings.empty()) << "neither validates";
  a.job.data.val_split_fraction = b.job.data.val_split_fraction = 0.1;
  EXPECT_EQ(WarningsOf(Compare({a, b}, 0)),
            std::vector<std::string>{"eval.max_rows differs (null, 100): validated with other "
                                     "rows; validation losses are not comparable"});
}

TEST(Comparability, AnotherLengthIsWarnedOfWhereItCutsRows) {
  Column a = SomeRun("j1", "a"), b = SomeRun("j2", "b");
  b.job.train.max_seq_length = 1024;
  a.inspection->longest_row = b.inspection->longest_row = 300;
  EXPECT_TRUE(Compare({a, b}, 0).warnings.empty());
  a.inspection->longest_row = 512;
  EXPECT_EQ(Compare({a, b}, 0).warnings.size(), 1u);
}

TEST(Comparability, SamplesOfOtherLengthsHaveNoComparableRate) {
  Column a = SomeRun("j1", "a"), b = SomeRun("j2", "b");
  b.job.train.max_seq_length = 1024;
  a.inspection->longest_row = b.inspection->longest_row = 2000;
  a.metrics = Loop(10, 10, 100, 10'000);
  b.metrics = Loop(9, 18, 90, 18'000);
  const Table table = Compare({a, b}, 0);
  EXPECT_EQ(WarningsOf(table),
            (std::vector<std::string>{
                "the runs trained different amounts (j1 10 steps, 100 rows; j2 9 steps, 90 rows): "
                "times and losses are not of the same training; memory is comparable",
                "rows are cut at different lengths (train.max_seq_length 512, 1024): other tokens "
                "are trained on; losses, samples/s and speed-up are not comparable"}));
  EXPECT_EQ(table.warnings.back().sections, std::vector<std::string>{"time"});
  EXPECT_EQ(PrintRow(table, "samples_per_second"), "time/samples_per_second [samples/s]: 10 | 5\n");
  EXPECT_EQ(FindRow(table, "speedup"), nullptr);
  EXPECT_EQ(PrintRow(table, "tokens_per_second"),
            "time/tokens_per_second [tokens/s]: 1000 | 1000 Δ0.000\n");
}

// A loss is of a token, so it says nothing beside one of other tokens.
TEST(Comparability, LossesOfAnotherVocabularyOrTokenizerAreNotCompared) {
  Column a = SomeRun("j1", "a"), b = SomeRun("j2", "b"), unknown = SomeRun("j3", "c");
  a.inspection->model.vocab = b.inspection->model.vocab = 32'000;
  a.inspection->tokenizer_digest = b.inspection->tokenizer_digest = "x1";
  for (Column* run : {&a, &b, &unknown})
    run->metrics = With(Loop(1, 1, 1, 1), {Summary("loss", 2)});
  b.job.model.path = "/models/other";
  EXPECT_TRUE(Compare({a, b, unknown}, 0).warnings.empty()) << "another model is a setting";
  b.inspection->tokenizer_digest = "x2";
  const Table table = Compare({a, b, unknown}, 0);
  EXPECT_EQ(WarningsOf(table),
            std::vector<std::string>{"the tokenizer differs (of /models/tiny, /models/other): the "
                                     "same text is other tokens; losses are not comparable"});
  EXPECT_EQ(table.warnings[0].sections, std::vector<std::string>{"loss"});
  EXPECT_EQ(PrintRow(table, "loss"), "loss/loss: 2 | 2 | 2 Δ0.000\n");
  a.job.data.format = b.job.data.format = job::DataFormat::kBin;
  EXPECT_TRUE(Compare({a, b}, 0).warnings.empty()) << "its tokens are there already";
  b.inspection->model.vocab = 50'272;
  EXPECT_EQ(WarningsOf(Compare({a, b}, 0)),
            std::vector<std::string>{"the vocabulary differs (32000, 50272 tokens): the loss is of "
                                     "other tokens; losses are not comparable"});
  EXPECT_EQ(PrintRow(Compare({a, b}, 0), "loss"), "loss/loss: 2 | 2\n");
}

// Only what is true of all the warnings beside it.
TEST(Comparability, WhatIsComparableAllTheSameIsSaidByTheOtherWarnings) {
  Column a = SomeRun("j1", "a"), b = SomeRun("j2", "b");
  a.metrics = Loop(8, 10, 64, 64);
  b.metrics = Loop(4, 5, 32, 32);
  const auto end = [&] {
    const std::string text = WarningsOf(Compare({a, b}, 0)).front();
    return text.substr(text.find("same training") + 13);
  };
  EXPECT_EQ(end(), "; rates and memory are comparable");
  a.neighbours = {{{9}, "h", true}};
  EXPECT_EQ(end(), "; memory is comparable") << "another job slowed it";
  a.neighbours.clear();
  a.metrics.push_back(OfRank(Summary("host_cpu_percent", 98), 0));
  EXPECT_EQ(end(), "; memory is comparable") << "some program slowed it";
  b.device_name = "L4";
  EXPECT_EQ(end(), "");
}

TEST(Comparability, WarnsOfRunsThatSharedProcessors) {
  Column a = SomeRun("j1", "a"), b = SomeRun("j2", "b"), c = SomeRun("j3", "c");
  const job::Neighbour on_slots = {{2}, "h", true}, on_gpus = {{9}, "h", false};
  a.neighbours = {on_slots, on_gpus};
  b.neighbours = {on_gpus};
  b.metrics = {OfRank(Summary("host_cpu_percent", 97), 0)};
  c.neighbours = {on_gpus};
  c.metrics = {OfRank(Summary("host_cpu_percent", 60), 0)};
  EXPECT_EQ(
      WarningsOf(Compare({a, b, c}, 0)),
      std::vector<std::string>{
          "runs shared a host's processors with other jobs (a (j1) with j2 on h; b (j2) with "
          "j9 on h): their times are not those of a host of their own; \"exclusive\": true in the "
          "job file gives a run its host to itself"});
}

// A time that is another program's work is no reason to take a setting.
TEST(Comparability, TimesOnHostsThatHadOtherWorkHaveNoStar) {
  Column slow = SomeRun("j1", "a"), fast = SomeRun("j2", "b");
  slow.metrics = Loop(8, 10, 64, 64);
  fast.metrics = Loop(8, 5, 64, 64);
  const auto has_star = [&](const char* key) {
    return PrintRow(Compare({slow, fast}, 0), key).find("best") != std::string::npos;
  };
  EXPECT_TRUE(has_star("speedup"));
  EXPECT_TRUE(has_star("time_seconds"));
  slow.neighbours = {{{9}, "h", true}};
  EXPECT_FALSE(Compare({slow, fast}, 0).warnings.empty());
  EXPECT_FALSE(has_star("time_seconds"));
}

// A heading that says "not comparable" has no comparison below it.
TEST(Comparability, WhatAWarningMakesDoubtfulHasNoPercentageNoStarAndNoSpeedup) {
  Column a = SomeRun("j1", "a"), b = SomeRun("j2", "b");
  a.metrics = With(Loop(8, 10, 64, 64), {OfRank(Summary("memory_reserved_bytes", 2), 0),
                                         OfRank(Summary("gpu_power_watts", 200), 0)});
  b.metrics = With(Loop(8, 5, 64, 64), {OfRank(Summary("memory_reserved_bytes", 1), 0),
                                        OfRank(Summary("gpu_power_watts", 300), 0)});
  a.prediction.emplace().time.emplace().training_seconds = 9;
  b.prediction = a.prediction;
  using Change = std::function<void(Column&)>;
  for (const Change& change : {Change([](Column& run) { run.neighbours = {{{9}, "h", true}}; }),
                               Change([](Column& run) { run.device_name = "L4"; }),
                               Change([](Column& run) { run.attempts = 2; }),
                               Change([](Column& run) { run.state = job::JobState::kRunning; })}) {
    Column other = b;
    change(other);
    const Table table = Compare({a, other}, 0);
    ASSERT_EQ(table.warnings.size(), 1u) << Print(table);
    const std::vector<std::string>& doubtful = table.warnings[0].sections;
    for (const Row& row : table.rows) {
      const bool is_doubtful = std::ranges::count(doubtful, row.section) > 0;
      const bool is_compared =
          Print(row).find("Δ") != std::string::npos || Print(row).find("best") != std::string::npos;
      EXPECT_FALSE(is_doubtful && is_compared) << Print(row) << table.warnings[0].text;
    }
    EXPECT_EQ(FindRow(table, "speedup"), nullptr) << table.warnings[0].text;
  }
  EXPECT_EQ(PrintRow(Compare({a, b}, 0), "speedup"), "time/speedup [×]: 1 | 2 best\n");
}

TEST(Comparability, RunsThatAWarningIsNotOfAreComparedAllTheSame) {
  Column a = SomeRun("j1", "a"), b = SomeRun("j2", "b"), runs = SomeRun("j3", "c");
  a.metrics = Loop(8, 10, 64, 64);
  b.metrics = runs.metrics = Loop(8, 5, 64, 64);
  runs.state = job::JobState::kRunning;
  runs.outcome.reset();
  const Table table = Compare({a, b, runs}, 0);
  EXPECT_EQ(PrintRow(table, "samples_per_second"),
            "time/samples_per_second [samples/s]: 6.4 | 12.8 Δ1.000 best | 12.8\n");
  EXPECT_EQ(PrintRow(table, "speedup"), "time/speedup [×]: 1 | 2 best | -\n");
  EXPECT_EQ(PrintRow(Compare({a, b, runs}, 2), "speedup"), "no row speedup");
}

TEST(Comparability, AGangOnMoreHostsHasThoseOfTheSmallerOne) {
  Column one = SomeRun("j1", "one"), two = SomeRun("j2", "two");
  one.metrics = Loop(8, 10, 64, 64);
  two.metrics = Loop(8, 5, 64, 64);
  two.job.devices = 2;
  one.host = "a";
  two.host = "b, a";
  EXPECT_TRUE(Compare({one, two}, 0).warnings.empty());
  EXPECT_EQ(PrintRow(Compare({one, two}, 0), "scaling_efficiency"),
            "time/scaling_efficiency [%]: 100 | 100\n");
  two.host = "b, aa";
  const Table table = Compare({one, two}, 0);
  EXPECT_EQ(WarningsOf(table), std::vector<std::string>{"the host differs (a, b, aa): processors, "
                                                        "links and neighbours may differ"});
  EXPECT_EQ(FindRow(table, "scaling_efficiency"), nullptr);
}

TEST(Comparability, WarnsOfASaturatedHostThatNoOtherJobExplains) {
  Column a = SomeRun("j1", "a"), b = SomeRun("j2", "b");
  a.metrics = {OfRank(Summary("host_cpu_percent", 98), 0)};
  b.metrics = {OfRank(Summary("host_cpu_percent", 60), 0)};
  EXPECT_EQ(WarningsOf(Compare({a, b}, 0)),
            std::vector<std::string>{
                "a host's processors were saturated though no other job ran there (a (j1) 98 %): "
                "programs that are not the site's may have slowed the run; trainctl top shows who "
                "uses a host"});
  a.job.exclusive = b.job.exclusive = true;
  EXPECT_TRUE(Compare({a, b}, 0).warnings.empty()) << "it uses the host up itself";
}

TEST(Comparability, ARankThatHasItsThreadsUsesTheHostUpItself) {
  Column a = SomeRun("j1", "a"), b = SomeRun("j2", "b");
  a.device_name = b.device_name = "CPU slot (2 threads)";
  const auto warns = [&](double rank_cpu_percent, bool exclusive) {
    a.job.exclusive = b.job.exclusive = exclusive;
    a.metrics = {OfRank(Summary("host_cpu_percent", 100), 0),
                 OfRank(Summary("rank_cpu_percent", rank_cpu_percent), 0)};
    return !Compare({a, b}, 0).warnings.empty();
  };
  for (const bool exclusive : {false, true}) {
    EXPECT_TRUE(warns(98, exclusive)) << "half of it is another's";
    EXPECT_FALSE(warns(178, exclusive));
  }
  a.metrics.pop_back();
  EXPECT_TRUE(Compare({a, b}, 0).warnings.empty()) << "who used it is not known";
}

TEST(Comparability, WarnsOfTracedStepsWhereRunsDoNotHaveThemAlike) {
  Column a = SomeRun("j1", "a"), b = SomeRun("j2", "b");
  a.metrics = With(Loop(40, 10, 320, 1e4), {OfRank(Summary("profile_step_seconds", 0.5), 0),
                                            OfRank(Summary("profile_step_seconds", 0.6), 1)});
  b.metrics = Loop(40, 10, 320, 1e4);
  EXPECT_EQ(WarningsOf(Compare({a, b}, 0)),
            std::vector<std::string>{"some steps were traced (a (j1) 1 of 40): those are slower, "
                                     "and count in the run's time and rates"});
  b.metrics = a.metrics;
  EXPECT_TRUE(Compare({a, b}, 0).warnings.empty());
}

// Of the only warning that there is of the two.
std::vector<std::string> SectionsDoubtful(const Column& a, const Column& b) {
  const Table table = Compare({a, b}, 0);
  EXPECT_EQ(table.warnings.size(), 1u) << Print(table);
  return table.warnings.empty() ? std::vector<std::string>() : table.warnings.front().sections;
}

TEST(Comparability, AWarningNamesTheSectionsWhoseNumbersItMakesDoubtful) {
  using Names = std::vector<std::string>;
  Column measured = SomeRun("j1", "a");
  measured.metrics = With(Loop(8, 10, 64, 64), {OfRank(Summary("gpu_energy_joules", 100), 0),
                                                OfRank(Summary("memory_reserved_bytes", 1), 0),
                                                Summary("loss", 2), Summary("val_loss", 2)});
  measured.job.data.val_path = "/data/test.json";
  measured.driver = measured.libtorch = measured.nccl = measured.commit = measured.host = "1";
  const auto of = [&measured](const std::function<void(Column&)>& change) {
    Column other = measured;
    change(other);
    return SectionsDoubtful(measured, other);
  };
  EXPECT_EQ(of([](Column& run) { run.inspection->data_digest = "d2"; }), Names{"loss"});
  EXPECT_EQ(of([](Column& run) { run.job.eval.max_rows = 1; }), Names{"loss"});
  EXPECT_EQ(of([](Column& run) { run.job.train.global_batch_size = 16; }), Names{"loss"});
  EXPECT_EQ(of([](Column& run) { run.driver = "2"; }), Names{"time"});
  EXPECT_EQ(of([](Column& run) { run.nccl = "2"; }), Names{"time"});
  EXPECT_EQ(of([](Column& run) { run.libtorch = "2"; }), (Names{"time", "memory"}));
  EXPECT_EQ(of([](Column& run) { run.host = "2"; }), (Names{"time", "device"}));
  EXPECT_EQ(of([](Column& run) { run.attempts = 2; }), (Names{"time", "device"}));
  EXPECT_EQ(of([](Column& run) { run.device_name = "L4"; }), (Names{"time", "memory", "device"}));
  EXPECT_EQ(of([](Column& run) { run.metrics = Loop(4, 5, 32, 32); }),
            (Names{"time", "device", "loss"}));
  const Names all = {"time", "memory", "device", "loss"};
  EXPECT_EQ(of([](Column& run) { run.commit = "2"; }), all);
  EXPECT_EQ(of([](Column& run) { run.state = job::JobState::kRunning; }), all);
}

TEST(Comparability, AWarningNamesNoSectionThatTheTableDoesNotHave) {
  Column a = SomeRun("j1", "a"), b = SomeRun("j2", "b");
  b.device_name = "L4";
  a.metrics = b.metrics = Loop(8, 10, 64, 64);
  EXPECT_EQ(SectionsDoubtful(a, b), std::vector<std::string>{"time"});
}

TEST(Comparability, AGlobalBatchWithALearningRateRuleIsNotWarnedOf) {
  Column a = SomeRun("j1", "a"), b = SomeRun("j2", "b");
  b.job.train.global_batch_size = 16;
  a.job.optimizer.lr_scaling = b.job.optimizer.lr_scaling = job::LrScaling::kLinear;
  EXPECT_TRUE(Compare({a, b}, 0).warnings.empty());
}

TEST(Comparability, ARuleForOneOfTwoIsWarnedOf) {
  Column a = SomeRun("j1", "a"), b = SomeRun("j2", "b");
  b.job.optimizer.lr_scaling = job::LrScaling::kLinear;
  const std::vector<std::string> expected = {
      "the learning-rate rule differs (lr_scaling none, linear): losses are not comparable"};
  EXPECT_EQ(WarningsOf(Compare({a, b}, 0)), expected);
}

TEST(Comparability, ARunThatHasNotFinishedIsShownByItsStateAndWarnedOf) {
  Column a = SomeRun("j1", "a");
  a.state = job::JobState::kRunning;
  a.outcome.reset();
  const Table table = Compare({a}, 0);
  EXPECT_EQ(PrintRow(table, "outcome"), "outcome/outcome: RUNNING\n");
  const std::vector<std::string> expected = {
      "a (j1) has not finished: its numbers are of the run so far"};
  EXPECT_EQ(WarningsOf(table), expected);
}

}  // namespace
}  // namespace trainctl::compare
