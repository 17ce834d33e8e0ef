#include "server/compare/compare.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/compare/sample_runs.h"

namespace trainctl::compare {
namespace {

TEST(Compare, TwoRunsThatDifferInOneSettingGiveTheWholeTable) {
  Column a = SomeRun("j1", "micro-4");
  Column b = SomeRun("j2", "micro-2");
  b.job.train.micro_batch_size = 2;
  a.metrics =
      With(Loop(10, 10, 100, 10'000),
           {OfRank(Summary("memory_peak_allocated_bytes", 4 * kGiB), 0, job::Phase::kAfterBackward),
            OfRank(Summary("memory_params_bytes", kGiB), 0, job::Phase::kBeforeForward),
            OfRank(Summary("host_cpu_percent", 50), 0), Summary("loss", 2)});
  b.metrics =
      With(Loop(10, 12.5, 100, 11'250),
           {OfRank(Summary("memory_peak_allocated_bytes", 3 * kGiB), 0, job::Phase::kAfterBackward),
            OfRank(Summary("memory_params_bytes", kGiB), 0, job::Phase::kBeforeForward),
            OfRank(Summary("host_cpu_percent", 60), 0), Summary("loss", 2)});
  EXPECT_EQ(Print(Compare({a, b}, 0)),
            "changed/train.accumulate_grad_batches: 2 | 4\n"
            "changed/train.micro_batch_size: 4 | 2\n"
            "outcome/outcome: SUCCEEDED | SUCCEEDED\n"
            "time/time_seconds [s]: 10 best | 12.5 Δ0.250\n"
            "time/step_seconds [s]: 1 best | 1.25 Δ0.250\n"
            "time/samples: 100 | 100 Δ0.000\n"
            "time/samples_per_second [samples/s]: 10 best | 8 Δ-0.200\n"
            "time/speedup [×]: 1 best | 0.8\n"
            "time/tokens_per_second [tokens/s]: 1000 best | 900 Δ-0.100\n"
            "memory/memory_peak_allocated_bytes [bytes]: 4.29497e+09 | 3.22123e+09 Δ-0.250 best\n"
            "memory/memory_params_bytes [bytes]: 1.07374e+09 | 1.07374e+09 Δ0.000\n"
            "device/host_cpu_percent [%]: 50 | 60 Δ0.200\n"
            "loss/loss: 2 | 2 Δ0.000\n"
            "same: model tiny\n"
            "same: weights pretrained\n"
            "same: data rows.json\n"
            "same: 32-true\n"
            "same: strategy single\n"
            "same: devices 1\n"
            "same: engine fused\n"
            "same: global batch 8\n"
            "same: T ≤ 512\n"
            "same: epochs 1\n"
            "same: adamw\n"
            "same: lr 0.0002\n"
            "same: schedule cosine\n"
            "same: seed 1337\n");
}

TEST(Compare, AnAutomaticStrategyIsTheOneThatRuns) {
  Column automatic = SomeRun("j1", "automatic"), single = SomeRun("j2", "single");
  single.job.strategy = job::StrategyKind::kSingle;
  automatic.job.train.max_seq_length = single.job.train.max_seq_length = 4096;
  const Table alike = Compare({automatic, single}, 0);
  EXPECT_EQ(PrintRow(alike, "strategy"), "no row strategy");
  EXPECT_NE(std::ranges::find(alike.same, "strategy single"), alike.same.end());
  EXPECT_NE(std::ranges::find(alike.same, "T ≤ 4,096"), alike.same.end());
  Column two = SomeRun("j3", "two");
  two.job.devices = 2;
  EXPECT_EQ(PrintRow(Compare({automatic, two}, 0), "strategy"), "changed/strategy: single | ddp\n");
}

TEST(Compare, TheLabelOfAMedianSaysThatItIsOne) {
  Column run = SomeRun("j1", "a");
  run.metrics = Loop(10, 10, 100, 10'000);
  const Table table = Compare({run}, 0);
  const auto row = std::ranges::find(table.rows, "step_seconds", &Row::key);
  ASSERT_NE(row, table.rows.end());
  EXPECT_EQ(row->label, "median seconds per step");
}

TEST(Compare, DeltasAreAgainstTheBaseThatWasAskedFor) {
  Column a = SomeRun("j1", "a"), b = SomeRun("j2", "b");
  a.metrics = {Summary("step_seconds", 10)};
  b.metrics = {Summary("step_seconds", 20)};
  EXPECT_EQ(PrintRow(Compare({a, b}, 1), "time_seconds"),
            "time/time_seconds [s]: 10 Δ-0.500 best | 20\n");
}

TEST(Compare, AnOutOfMemoryRunHasItsOutcomeAndPredictionAndIsEmptyElsewhere) {
  Column fits = SomeRun("j1", "fits"), oom = SomeRun("j2", "oom");
  oom.outcome = job::Outcome::kOomGpu;
  oom.as_expected = true;
  oom.prediction.emplace().memory.peak_allocated = 1000;
  fits.metrics = oom.metrics = {
      Summary("step_seconds", 10),
      OfRank(Summary("memory_params_bytes", 5), 0, job::Phase::kBeforeForward), Summary("loss", 3)};
  const Table table = Compare({fits, oom}, 0);
  EXPECT_EQ(PrintRow(table, "outcome"), "outcome/outcome: SUCCEEDED | OOM_GPU (as expected)\n");
  EXPECT_EQ(PrintRow(table, "time_seconds"), "time/time_seconds [s]: 10 | -\n");
  EXPECT_EQ(PrintRow(table, "memory_params_bytes"), "memory/memory_params_bytes [bytes]: 5 | -\n");
  EXPECT_EQ(PrintRow(table, "predicted_peak_bytes"),
            "memory/predicted_peak_bytes [bytes]: - | 1000\n");
  EXPECT_EQ(PrintRow(table, "loss"), "loss/loss: 3 | -\n");
}

TEST(Compare, APredictionStandsBesideItsMeasurementWithItsError) {
  Column run = SomeRun("j1", "a");
  run.prediction.emplace().memory.peak_allocated = 1020;
  run.prediction->time.emplace().training_seconds = 9;
  run.metrics = {Summary("step_seconds", 10),
                 OfRank(Summary("memory_peak_allocated_bytes", 1000), 0)};
  const Table table = Compare({run}, 0);
  EXPECT_EQ(PrintRow(table, "predicted_peak_bytes"),
            "memory/predicted_peak_bytes [bytes]: 1020 (+2.0 % of the measured)\n");
  EXPECT_EQ(PrintRow(table, "predicted_time_seconds"),
            "time/predicted_time_seconds [s]: 9 (−10.0 % of the measured)\n");
}

// A prediction from rates beside one from earlier runs says nothing of the settings.
TEST(Compare, PredictedTimesFromDifferentSourcesHaveNoDelta) {
  Column rates = SomeRun("j1", "a"), runs = SomeRun("j2", "b"), more = SomeRun("j3", "c");
  for (Column* run : {&rates, &runs, &more}) {
    run->prediction.emplace().time.emplace().training_seconds = 9;
    run->metrics = {Summary("step_seconds", 10)};
  }
  runs.prediction->time = {.training_seconds = 18, .earlier_runs = 2};
  more.prediction->time->training_seconds = 12;
  EXPECT_EQ(
      PrintRow(Compare({rates, runs}, 0), "predicted_time_seconds"),
      "time/predicted_time_seconds [s]: 9 (−10.0 % of the measured, from rates) | 18 (+80.0 % "
      "of the measured, from earlier runs)\n");
  EXPECT_EQ(
      PrintRow(Compare({rates, runs, more}, 0), "predicted_time_seconds"),
      "time/predicted_time_seconds [s]: 9 (−10.0 % of the measured, from rates) | 18 (+80.0 % "
      "of the measured, from earlier runs) | 12 Δ0.333 (+20.0 % of the measured, from "
      "rates)\n");
}

TEST(Compare, APredictionThatIsRightIsSaidToBe) {
  Column run = SomeRun("j1", "a");
  run.prediction.emplace().memory.peak_allocated = 100'010;
  run.metrics = {OfRank(Summary("memory_peak_allocated_bytes", 100'000), 0)};
  EXPECT_EQ(PrintRow(Compare({run}, 0), "predicted_peak_bytes"),
            "memory/predicted_peak_bytes [bytes]: 100010 (as measured)\n");
}

TEST(Compare, TheTimeOfARunThatWasStoppedProvesNoPrediction) {
  Column run = SomeRun("j1", "a");
  run.outcome = job::Outcome::kCancelled;
  run.prediction.emplace().time.emplace().training_seconds = 9;
  run.metrics = {Summary("step_seconds", 1)};
  EXPECT_EQ(PrintRow(Compare({run}, 0), "predicted_time_seconds"),
            "time/predicted_time_seconds [s]: 9\n");
}

TEST(Compare, APredictionOfARunThatGoesOnIsOfItsOwnSteps) {
  Column run = SomeRun("j1", "a");
  run.job.checkpoint.resume_from = "/out/checkpoints";
  run.prediction.emplace().time.emplace().training_seconds = 9;
  run.metrics = {Summary("step_seconds", 10)};
  EXPECT_EQ(PrintRow(Compare({run}, 0), "predicted_time_seconds"),
            "time/predicted_time_seconds [s]: 9\n")
      << "the checkpoint was not known: it is of the whole run";
  run.inspection->resume_step = 4;
  EXPECT_EQ(PrintRow(Compare({run}, 0), "predicted_time_seconds"),
            "time/predicted_time_seconds [s]: 9 (−10.0 % of the measured)\n");
}

TEST(Compare, OfValuesThatArePracticallyEqualNoneIsTheBest) {
  Column a = SomeRun("j1", "a"), b = SomeRun("j2", "b");
  a.metrics = {Summary("loss", 2)};
  b.metrics = {Summary("loss", 2.0001)};
  EXPECT_EQ(PrintRow(Compare({a, b}, 0), "loss"), "loss/loss: 2 | 2.0001 Δ0.000\n");
}

TEST(Compare, AnOptimizerInHostMemoryIsARowOnlyWhereThereIsOne) {
  Column a = SomeRun("j1", "a");
  a.metrics = {OfRank(Summary("memory_optimizer_cpu_bytes", 0), 0, job::Phase::kBeforeForward)};
  EXPECT_EQ(FindRow(Compare({a}, 0), "memory_optimizer_cpu_bytes"), nullptr);
}

TEST(Compare, ARunThatFailedIsNeverTheBest) {
  Column a = SomeRun("j1", "a"), b = SomeRun("j2", "b"), c = SomeRun("j3", "c");
  c.outcome = job::Outcome::kCancelled;
  a.metrics = {Summary("step_seconds", 10)};
  b.metrics = {Summary("step_seconds", 8)};
  c.metrics = {Summary("step_seconds", 1)};
  EXPECT_EQ(PrintRow(Compare({a, b, c}, 0), "time_seconds"),
            "time/time_seconds [s]: 10 | 8 Δ-0.200 best | 1 Δ-0.900\n");
}

TEST(Compare, MemoryIsTheWorstRanksWithTheSpreadAndByKindAtItsLargestPhase) {
  Column a = SomeRun("j1", "a");
  a.metrics = {
      OfRank(Summary("memory_peak_allocated_bytes", 70 * kGiB), 0, job::Phase::kAfterForward),
      OfRank(Summary("memory_peak_allocated_bytes", 74 * kGiB), 1, job::Phase::kAfterForward),
      OfRank(Summary("memory_grads_bytes", 0), 0, job::Phase::kBeforeForward),
      OfRank(Summary("memory_grads_bytes", 8), 0, job::Phase::kAfterBackward),
      OfRank(Summary("memory_grads_bytes", 9), 1, job::Phase::kAfterBackward)};
  const Table table = Compare({a}, 0);
  EXPECT_EQ(PrintRow(table, "memory_peak_allocated_bytes"),
            "memory/memory_peak_allocated_bytes [bytes]: 7.94569e+10 (the least of 2 ranks 94.6 % "
            "of it)\n");
  EXPECT_EQ(PrintRow(table, "memory_grads_bytes"),
            "memory/memory_grads_bytes [bytes]: 9 (after_backward)\n");
}

TEST(Compare, UtilizationIsShownPerGpuAndEnergyIsTheSumOfTheirCounters) {
  Column a = SomeRun("j1", "a");
  const auto counter = [](double first, double last, int64_t count) {
    return MetricSummary{
        .name = "gpu_energy_joules", .latest = last, .min = first, .max = last, .count = count};
  };
  a.metrics = {OfRank(Summary("gpu_utilization_percent", 56), 0),
               OfRank(Summary("gpu_utilization_percent", 100), 1), OfRank(counter(100, 1500, 5), 0),
               OfRank(counter(90, 90, 1), 1)};
  const Table table = Compare({a}, 0);
  EXPECT_EQ(PrintRow(table, "gpu_utilization_percent"),
            "device/gpu_utilization_percent [%]: 78 (56, 100)\n");
  EXPECT_EQ(PrintRow(table, "gpu_energy_joules"), "device/gpu_energy_joules [J]: 1590\n")
      << "a counter begins at 0, also one of a single sample";
}

TEST(Compare, SpeedupOverMoreDevicesBecomesScalingEfficiency) {
  Column one = SomeRun("j1", "one"), two = SomeRun("j2", "two");
  two.job.devices = 2;
  one.metrics = Loop(1, 1, 10, 10);
  two.metrics = Loop(1, 1, 18, 18);
  const Table table = Compare({one, two}, 0);
  EXPECT_EQ(PrintRow(table, "speedup"), "time/speedup [×]: 1 | 1.8 best\n");
  EXPECT_EQ(PrintRow(table, "scaling_efficiency"), "time/scaling_efficiency [%]: 100 best | 90\n");
  EXPECT_EQ(FindRow(Compare({one, one}, 0), "scaling_efficiency"), nullptr);
}

TEST(Compare, OnlyRunsThatDifferInTheirGangAloneScale) {
  Column one = SomeRun("j1", "one"), two = SomeRun("j2", "two"), lora = SomeRun("j3", "lora"),
         micro = SomeRun("j4", "micro");
  two.job.devices = micro.job.devices = 2;
  two.job.strategy = job::StrategyKind::kFsdp;
  two.job.output.dir = "/elsewhere";
  lora.job.lora = job::LoraSpec{};
  micro.job.train.micro_batch_size = 2;
  for (Column* run : {&one, &two, &lora, &micro}) run->metrics = Loop(1, 1, 8, 8);
  two.metrics = Loop(1, 0.5, 8, 8);
  EXPECT_EQ(PrintRow(Compare({one, two, lora, micro}, 0), "scaling_efficiency"),
            "time/scaling_efficiency [%]: 100 | 100 | - | -\n");
  EXPECT_EQ(FindRow(Compare({one, micro}, 0), "scaling_efficiency"), nullptr);
  two.device_name = "NVIDIA A100";
  EXPECT_EQ(FindRow(Compare({one, two}, 0), "scaling_efficiency"), nullptr);
}

TEST(Compare, AGlobalBatchThatGrowsWithTheDevicesScales) {
  Column one = SomeRun("j1", "one"), two = SomeRun("j2", "two");
  for (Column* run : {&one, &two}) {
    run->job.train.global_batch_size.reset();
    run->job.train.accumulate_grad_batches = 2;
  }
  two.job.devices = 2;
  one.metrics = Loop(2, 2, 16, 16);
  two.metrics = Loop(1, 1, 16, 16);
  EXPECT_EQ(PrintRow(Compare({one, two}, 0), "scaling_efficiency"),
            "time/scaling_efficiency [%]: 100 | 100\n");
}

TEST(Compare, SecondsPerStepIsTheMedianOfTheSteadyStateWhereItIsKnown) {
  Column a = SomeRun("j1", "a");
  a.metrics = {MetricSummary{.name = "step_seconds",
                             .latest = 1,
                             .min = 1,
                             .max = 9,
                             .total = 20,
                             .count = 10,
                             .median = 1.1}};
  EXPECT_EQ(PrintRow(Compare({a}, 0), "step_seconds"), "time/step_seconds [s]: 1.1\n");
}

// It allocates and compiles, and says nothing of the steps that follow.
TEST(Compare, ARunOfOneStepHasNoMedianStep) {
  Column one = SomeRun("j1", "a"), two = SomeRun("j2", "b");
  one.metrics = Loop(1, 9, 8, 8);
  two.metrics = Loop(2, 10, 16, 16);
  two.metrics[0].median = 1;
  EXPECT_EQ(PrintRow(Compare({one, two}, 0), "step_seconds"), "time/step_seconds [s]: - | 1\n");
  EXPECT_EQ(FindRow(Compare({one}, 0), "step_seconds"), nullptr);
  EXPECT_EQ(PrintRow(Compare({one}, 0), "time_seconds"), "time/time_seconds [s]: 9\n");
}

TEST(Compare, OfOneRunThereIsNoSpeedup) {
  Column run = SomeRun("j1", "a");
  run.metrics = Loop(10, 10, 100, 100);
  EXPECT_EQ(FindRow(Compare({run}, 0), "speedup"), nullptr);
}

TEST(Compare, ValuesThatAreShownAsEqualShareTheStar) {
  Column a = SomeRun("j1", "a"), b = SomeRun("j2", "b"), c = SomeRun("j3", "c");
  a.metrics = {Summary("loss", 5.4291727155)};
  b.metrics = {Summary("loss", 5.4291727213)};
  c.metrics = {Summary("loss", 6)};
  EXPECT_EQ(PrintRow(Compare({a, b, c}, 0), "loss"),
            "loss/loss: 5.42917 best | 5.42917 Δ0.000 best | 6 Δ0.105\n");
}

TEST(Compare, ARunThatTrainedLessIsNotTheFastest) {
  Column a = SomeRun("j5", "a"), b = SomeRun("j10", "b");
  a.metrics = With(Loop(8, 10, 64, 64), {Summary("val_loss", 2)});
  b.metrics = With(Loop(4, 4, 32, 32), {Summary("val_loss", 3)});
  const Table table = Compare({a, b}, 0);
  EXPECT_EQ(PrintRow(table, "time_seconds"), "time/time_seconds [s]: 10 (8 steps) | 4 (4 steps)\n");
  EXPECT_EQ(PrintRow(table, "samples_per_second"),
            "time/samples_per_second [samples/s]: 6.4 | 8 Δ0.250 best\n");
  EXPECT_EQ(WarningsOf(table),
            std::vector<std::string>{
                "the runs trained different amounts (j5 8 steps, 64 rows; j10 4 steps, 32 rows): "
                "times and losses are not of the same training; rates and memory are comparable"});
}

TEST(Compare, AmongRunsThatTrainedMostOneIsTheFastest) {
  Column a = SomeRun("j1", "a"), b = SomeRun("j2", "b"), c = SomeRun("j3", "c");
  a.metrics = Loop(8, 10, 64, 64);
  b.metrics = Loop(4, 8, 64, 64);
  c.metrics = Loop(8, 4, 32, 32);
  EXPECT_EQ(PrintRow(Compare({a, b, c}, 0), "time_seconds"),
            "time/time_seconds [s]: 10 (8 steps) | 8 Δ-0.200 best (4 steps) | 4 (8 steps)\n")
      << "as many rows in fewer steps are as much";
}

TEST(Compare, ASettingThatIsNullIsAnEmptyValueAndARemarkIsNoSetting) {
  Column a = SomeRun("j1", "a"), b = SomeRun("j2", "b");
  a.job.train.max_norm = 1;
  a.job.notes = "first";
  a.job.tags = {{"lab", "2"}};
  a.job.expect = job::Expect::kOom;
  EXPECT_EQ(Print(Compare({a, b}, 0).rows.front()), "changed/train.max_norm: 1 | -\n");
  EXPECT_EQ(Compare({a, b}, 0).rows.size(), 2u);  // and outcome
}

TEST(Compare, AFolderOfAJobsOwnNameIsNoSettingThatChanged) {
  Column a = SomeRun("j1", "a"), b = SomeRun("j2", "b");
  a.job.name = "full";
  b.job.name = "lora";
  a.job.output.dir = "/runs/full";
  b.job.output.dir = "/runs/lora";
  EXPECT_EQ(Compare({a, b}, 0).rows.size(), 1u) << "the outcome alone";
  for (const char* other : {"/elsewhere", "/other/lora"}) {
    b.job.output.dir = other;
    EXPECT_EQ(Print(Compare({a, b}, 0).rows.front()),
              std::string("changed/output.dir: /runs/full | ") + other + "\n")
        << "each has the folder that is shown";
  }
}

TEST(Compare, OfASettingThatSomeRunsLeaveOutThePartsAreShown) {
  Column a = SomeRun("j1", "a"), b = SomeRun("j2", "b");
  b.job.lora = job::LoraSpec{.r = 8, .dropout = 0};
  std::string text;
  for (const Row& row : Compare({a, b}, 0).rows) {
    if (row.section == "changed") text += Print(row);
  }
  EXPECT_EQ(text,
            "changed/lora.r: - | 8\nchanged/lora.alpha: - | 16\nchanged/lora.dropout: - | 0\n"
            "changed/lora.targets: - | all linear layers\n");
}

TEST(Compare, TextsStandUnderTheirPromptsOfTheFirstAndTheLastEvaluation) {
  Column a = SomeRun("j1", "a"), b = SomeRun("j2", "b"), c = SomeRun("j3", "c");
  a.continuations = {{4, 0, "Once", " u"}, {4, 1, "Two", " 2"}, {9, 0, "Once", " v"}};
  b.continuations = {{9, 0, "Once", " w"}};
  std::string text;
  for (const Row& row : Compare({a, b, c}, 0).rows) {
    if (row.section == "texts") text += row.label + " " + Print(row);
  }
  EXPECT_EQ(text,
            "Once texts/text_first.0:  u (step 4) |  w (step 9) | -\n"
            "Once texts/text_last.0:  v (step 9) | - | -\n"
            "Two texts/text_first.1:  2 (step 4) | - | -\n");
}

TEST(Compare, MarksOfRestartsAndPreemptionsStandInTheOutcome) {
  Column a = SomeRun("j1", "a");
  a.attempts = 3;
  a.preempted = true;
  EXPECT_EQ(PrintRow(Compare({a}, 0), "outcome"),
            "outcome/outcome: SUCCEEDED (preempted, 3 attempts)\n");
}

}  // namespace
}  // namespace trainctl::compare
