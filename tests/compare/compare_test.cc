#include "server/compare/compare.h"

#include <gtest/gtest.h>

#include <cstdio>

namespace trainctl::compare {
namespace {

using Column = Run;  // the name Run is taken inside a GoogleTest body
constexpr double kGiB = 1024.0 * 1024 * 1024;

Run SomeRun(const std::string& id, const std::string& name) {
  Run run{.id = id,
          .name = name,
          .state = job::JobState::kFinished,
          .outcome = job::Outcome::kSucceeded};
  run.job.name = name;
  run.job.model.path = "/models/tiny";
  run.job.data.path = "/data/rows.json";
  run.job.train.global_batch_size = 8;
  run.job.train.micro_batch_size = 4;
  run.inspection.emplace().data_digest = "d1";
  run.device_name = "NVIDIA H200";
  return run;
}

using job::MetricSummary;

MetricSummary Summary(const std::string& name, double value) {
  return {.name = name, .latest = value, .min = value, .max = value, .total = value, .count = 1};
}

// Of a run of so many steps that took so long, with all it counted.
std::vector<MetricSummary> Loop(int64_t steps, double seconds, double samples, double tokens) {
  std::vector<MetricSummary> summaries = {Summary("step_seconds", seconds),
                                          Summary("samples", samples), Summary("tokens", tokens)};
  for (MetricSummary& summary : summaries) summary.count = steps;
  return summaries;
}

std::vector<MetricSummary> With(std::vector<MetricSummary> summaries,
                                const std::vector<MetricSummary>& more) {
  summaries.insert(summaries.end(), more.begin(), more.end());
  return summaries;
}

MetricSummary OfRank(MetricSummary summary, int64_t rank, std::string phase = "") {
  summary.rank = rank;
  summary.phase = std::move(phase);
  return summary;
}

// "key [unit]: value Δdelta best (note) | …", one row a line: the whole table as people would check
// it by eye.
std::string Print(const Row& row) {
  std::string text =
      row.section + "/" + row.key + (row.unit.empty() ? "" : " [" + row.unit + "]") + ":";
  for (size_t i = 0; i < row.values.size(); ++i) {
    const Value& value = row.values[i];
    char number[64] = "-";
    if (const double* found = std::get_if<double>(&value.value))
      std::snprintf(number, sizeof number, "%g", *found);
    const std::string* words = std::get_if<std::string>(&value.value);
    text += (i == 0 ? " " : " | ") + (words != nullptr ? *words : std::string(number));
    if (value.delta) {
      std::snprintf(number, sizeof number, " Δ%.3f", *value.delta);
      text += number;
    }
    if (value.best) text += " best";
    if (!value.note.empty()) text += " (" + value.note + ")";
  }
  return text + "\n";
}

std::string Print(const Table& table) {
  std::string text;
  for (const Row& row : table.rows) text += Print(row);
  for (const std::string& same : table.same) text += "same: " + same + "\n";
  for (const std::string& warning : table.warnings) text += "warning: " + warning + "\n";
  return text;
}

const Row* FindRow(const Table& table, const std::string& key) {
  for (const Row& row : table.rows) {
    if (row.key == key) return &row;
  }
  return nullptr;
}

std::string PrintRow(const Table& table, const std::string& key) {
  const Row* row = FindRow(table, key);
  return row == nullptr ? "no row " + key : Print(*row);
}

TEST(Compare, TwoRunsThatDifferInOneSettingGiveTheWholeTable) {
  Column a = SomeRun("j1", "micro-4");
  Column b = SomeRun("j2", "micro-2");
  b.job.train.micro_batch_size = 2;
  a.metrics = With(Loop(10, 10, 100, 10'000),
                   {OfRank(Summary("memory_peak_allocated_bytes", 4 * kGiB), 0, "after_backward"),
                    OfRank(Summary("memory_params_bytes", kGiB), 0, "before_forward"),
                    OfRank(Summary("host_cpu_percent", 50), 0), Summary("loss", 2)});
  b.metrics = With(Loop(10, 12.5, 100, 11'250),
                   {OfRank(Summary("memory_peak_allocated_bytes", 3 * kGiB), 0, "after_backward"),
                    OfRank(Summary("memory_params_bytes", kGiB), 0, "before_forward"),
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
            "same: strategy auto\n"
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
  fits.metrics = oom.metrics = {Summary("step_seconds", 10),
                                OfRank(Summary("memory_params_bytes", 5), 0, "before_forward"),
                                Summary("loss", 3)};
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
                 OfRank(Summary("memory_peak_allocated_bytes", 1000), 0, "")};
  const Table table = Compare({run}, 0);
  EXPECT_EQ(PrintRow(table, "predicted_peak_bytes"),
            "memory/predicted_peak_bytes [bytes]: 1020 (+2.0 % of the measured)\n");
  EXPECT_EQ(PrintRow(table, "predicted_time_seconds"),
            "time/predicted_time_seconds [s]: 9 (−10.0 % of the measured)\n");
}

TEST(Compare, APredictionThatIsRightIsSaidToBe) {
  Column run = SomeRun("j1", "a");
  run.prediction.emplace().memory.peak_allocated = 100'010;
  run.metrics = {OfRank(Summary("memory_peak_allocated_bytes", 100'000), 0, "")};
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
  a.metrics = {OfRank(Summary("memory_optimizer_cpu_bytes", 0), 0, "before_forward")};
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
  a.metrics = {OfRank(Summary("memory_peak_allocated_bytes", 70 * kGiB), 0, "after_forward"),
               OfRank(Summary("memory_peak_allocated_bytes", 74 * kGiB), 1, "after_forward"),
               OfRank(Summary("memory_grads_bytes", 0), 0, "before_forward"),
               OfRank(Summary("memory_grads_bytes", 8), 0, "after_backward"),
               OfRank(Summary("memory_grads_bytes", 9), 1, "after_backward")};
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

TEST(Compare, ARunThatTrainedLessIsNotTheFastest) {
  Column a = SomeRun("j5", "a"), b = SomeRun("j10", "b");
  a.metrics = With(Loop(8, 10, 64, 64), {Summary("val_loss", 2)});
  b.metrics = With(Loop(4, 4, 32, 32), {Summary("val_loss", 3)});
  const Table table = Compare({a, b}, 0);
  EXPECT_EQ(PrintRow(table, "time_seconds"), "time/time_seconds [s]: 10 (8 steps) | 4 (4 steps)\n");
  EXPECT_EQ(PrintRow(table, "samples_per_second"),
            "time/samples_per_second [samples/s]: 6.4 | 8 Δ0.250 best\n");
  EXPECT_EQ(table.warnings,
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
  b.job.output.dir = "/elsewhere";
  EXPECT_EQ(Print(Compare({a, b}, 0).rows.front()), "changed/output.dir: /runs | /elsewhere\n");
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

TEST(Compare, WarnsOfDataBatchMachineAndRestarts) {
  Column a = SomeRun("j1", "a"), b = SomeRun("j2", "b");
  b.inspection->data_digest = "d2";
  b.job.train.global_batch_size = 16;
  b.device_name = "NVIDIA A100";
  b.attempts = 2;
  a.driver = b.driver = "580.1";
  const std::vector<std::string> expected = {
      "the data differ (other bytes in the file): losses are not comparable",
      "the global batch differs (8, 16) without a learning-rate rule: fewer, larger steps at the "
      "same lr; set optimizer.lr_scaling to "
      "\"linear\", or compare time and memory only",
      "the device differs (NVIDIA H200, NVIDIA A100): time and memory are of different hardware",
      "b (j2) was restarted (2 attempts): its time is not that of one undisturbed run"};
  EXPECT_EQ(Compare({a, b}, 0).warnings, expected);
}

TEST(Compare, WarnsOfEachSettingThatMakesOtherDataOfTheSameFile) {
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
      {"data.seed differs (42, 43): the rows are split and shuffled in another way",
       [](job::JobSpec& job) { job.data.seed = 43; }},
  };
  for (const Case& c : cases) {
    Column a = SomeRun("j1", "a"), b = SomeRun("j2", "b");
    c.change(b.job);
    EXPECT_EQ(Compare({a, b}, 0).warnings, std::vector{c.warning + "; losses are not comparable"});
  }
}

TEST(Compare, WarnsOfRunsThatValidateWithOtherRows) {
  Column a = SomeRun("j1", "a"), b = SomeRun("j2", "b");
  b.job.eval.max_rows = 100;
  EXPECT_TRUE(Compare({a, b}, 0).warnings.empty()) << "neither validates";
  a.job.data.val_split_fraction = b.job.data.val_split_fraction = 0.1;
  EXPECT_EQ(Compare({a, b}, 0).warnings,
            std::vector<std::string>{"eval.max_rows differs (null, 100): validated with other "
                                     "rows; validation losses are not comparable"});
}

TEST(Compare, AnotherLengthIsWarnedOfWhereItCutsRows) {
  Column a = SomeRun("j1", "a"), b = SomeRun("j2", "b");
  b.job.train.max_seq_length = 1024;
  a.inspection->longest_row = b.inspection->longest_row = 300;
  EXPECT_TRUE(Compare({a, b}, 0).warnings.empty());
  a.inspection->longest_row = 512;
  EXPECT_EQ(Compare({a, b}, 0).warnings.size(), 1u);
}

TEST(Compare, WarnsOfRunsThatSharedProcessors) {
  Column a = SomeRun("j1", "a"), b = SomeRun("j2", "b"), c = SomeRun("j3", "c");
  const job::Neighbour on_slots = {{2}, "h", true}, on_gpus = {{9}, "h", false};
  a.neighbours = {on_slots, on_gpus};
  b.neighbours = {on_gpus};
  b.metrics = {OfRank(Summary("host_cpu_percent", 97), 0)};
  c.neighbours = {on_gpus};
  c.metrics = {OfRank(Summary("host_cpu_percent", 60), 0)};
  EXPECT_EQ(
      Compare({a, b, c}, 0).warnings,
      std::vector<std::string>{
          "runs shared a host's processors with other jobs (a (j1) with j2 on h; b (j2) with "
          "j9 on h): their times are not those of a host of their own; \"exclusive\": true in the "
          "job file gives a run its host to itself"});
}

TEST(Compare, AGlobalBatchWithALearningRateRuleIsNotWarnedOf) {
  Column a = SomeRun("j1", "a"), b = SomeRun("j2", "b");
  b.job.train.global_batch_size = 16;
  a.job.optimizer.lr_scaling = b.job.optimizer.lr_scaling = job::LrScaling::kLinear;
  EXPECT_TRUE(Compare({a, b}, 0).warnings.empty());
}

TEST(Compare, ARuleForOneOfTwoIsWarnedOf) {
  Column a = SomeRun("j1", "a"), b = SomeRun("j2", "b");
  b.job.optimizer.lr_scaling = job::LrScaling::kLinear;
  const std::vector<std::string> expected = {
      "the learning-rate rule differs (lr_scaling none, linear): losses are not comparable"};
  EXPECT_EQ(Compare({a, b}, 0).warnings, expected);
}

TEST(Compare, ARunThatHasNotFinishedIsShownByItsStateAndWarnedOf) {
  Column a = SomeRun("j1", "a");
  a.state = job::JobState::kRunning;
  a.outcome.reset();
  const Table table = Compare({a}, 0);
  EXPECT_EQ(PrintRow(table, "outcome"), "outcome/outcome: RUNNING\n");
  const std::vector<std::string> expected = {
      "a (j1) has not finished: its numbers are of the run so far"};
  EXPECT_EQ(table.warnings, expected);
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
