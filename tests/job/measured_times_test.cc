// The prediction of run time beside what was measured: each row of deploy/recipes/README.md, by its
// job file.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <vector>

#include "common/base/file.h"
#include "common/estimate/run_time.h"
#include "common/job/job_json.h"
#include "tests/checkout.h"
#include "tests/job/deployed_model.h"

namespace trainctl::job {
namespace {

constexpr double kWorst = 0.10;  // of every row
constexpr double kUsual = 0.08;  // of nine rows in ten
constexpr const char* kDevice = "NVIDIA H200";
const std::string kJobs = checkout::File("deploy/recipes/");

struct Measured {
  const char* id;
  double step_seconds;
  bool holds_gradients = false;
};

void PrintTo(const Measured& row, std::ostream* out) { *out << row.id; }

// 2026-11-21 on H200s, tests/gpu/recipes.py: random tokens, T 512, 3 to 5 steps; fsdp reduced in
// each micro step.
constexpr Measured kTable[] = {
    {"single-1", 2.139},
    {"single-2", 0.554},
    {"single-3", 2.192},
    {"single-4", 0.200},
    {"single-5", 0.207},
    {"single-6", 0.652},
    {"single-7", 0.566},
    {"single-9", 0.090},
    {"single-10", 0.116},
    {"single-11", 0.313},
    {"single-12", 0.468},
    {"single-13", 0.842},
    {"single-14", 0.498},
    {"multi-1", 0.154},
    {"multi-1a", 0.568},
    {"multi-2", 0.185},
    {"multi-3", 0.180},
    {"multi-4", 0.325},
    {"multi-5", 4.014},
    {"chess-1", 2.627},
    {"chess-3-micro-2", 1.346},
    {"chess-3-micro-4", 0.816},
    {"chess-3-micro-8", 0.673},
    {"chess-3-micro-16", 0.607},
    {"chess-4-micro-1", 2.595},
    {"chess-4-micro-4", 1.009},
    {"chess-4-micro-8", 0.865},
    {"chess-4-micro-16", 0.801},
    {"further-sgd", 0.554},
    {"further-adamw-8bit", 0.571},
    {"further-checkpointing", 0.751},
    {"further-zero2-offload", 1.668},
};

double PredictedSeconds(const Measured& row) {
  const auto text = base::ReadFile(kJobs + row.id + ".json", 1 << 20);
  ReadJob read = ReadJobFile(*text, {.overrides = {{"data.val_split_fraction", "0"}}});
  EXPECT_TRUE(read.job) << row.id;
  const Inspection inspection = {
      .model = DeployedModel(std::filesystem::path(read.job->model.path).filename()),
      .rows = 4096,
      .longest_row = 512,
      .total_tokens = 4096 * 512,
      .data_digest = "random"};
  return EstimateTime(*read.job, inspection, kDevice, row.holds_gradients)->step_seconds;
}

double ErrorOf(const Measured& row) { return PredictedSeconds(row) / row.step_seconds - 1; }

class MeasuredTime : public testing::TestWithParam<Measured> {};

TEST_P(MeasuredTime, IsPredictedWithinTenPercent) {
  const double error = ErrorOf(GetParam());
  RecordProperty("error_percent", std::to_string(100 * error));
  EXPECT_LT(std::abs(error), kWorst) << "predicted " << PredictedSeconds(GetParam())
                                     << " s a step, measured " << GetParam().step_seconds;
}

INSTANTIATE_TEST_SUITE_P(Rows, MeasuredTime, testing::ValuesIn(kTable), [](const auto& row) {
  std::string name = row.param.id;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

TEST(MeasuredTimes, NineOfTenArePredictedWithinEightPercent) {
  const auto near = std::ranges::count_if(
      kTable, [](const Measured& row) { return std::abs(ErrorOf(row)) < kUsual; });
  EXPECT_GE(static_cast<double>(near), 0.9 * static_cast<double>(std::size(kTable)));
}

TEST(MeasuredTimes, ArePredictedTooLongAsOftenAsTooShort) {
  double sum = 0;
  for (const Measured& row : kTable) sum += ErrorOf(row);
  EXPECT_LT(std::abs(sum / static_cast<double>(std::size(kTable))), 0.03);
}

// quickstart's two experiments, full and LoRA, on a CPU slot of one thread (README.md).
TEST(MeasuredTimes, OfCpuSlotsArePredictedToo) {
  Inspection inspection = {
      .rows = 400, .longest_row = 128, .total_tokens = 27'886, .data_digest = "d"};
  inspection.model = {.layers = 30,
                      .hidden = 576,
                      .intermediate = 1536,
                      .heads = 9,
                      .kv_heads = 3,
                      .head_dim = 64,
                      .vocab = 49152,
                      .tied_head = true};
  JobSpec job;
  job.train.global_batch_size = 4;
  job.train.micro_batch_size = 4;
  job.train.max_seq_length = 128;
  const auto seconds = [&] {
    return EstimateTime(job, inspection, "CPU slot (1 thread)")->step_seconds;
  };
  EXPECT_NEAR(seconds(), 4.93, 0.1 * 4.93);
  job.lora = LoraSpec{.r = 8};
  EXPECT_NEAR(seconds(), 4.17, 0.1 * 4.17);
}

}  // namespace
}  // namespace trainctl::job
