// The prediction of run time beside what was measured: each row of deploy/recipes/README.md, by its
// job file.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "common/estimate/run_time.h"
#include "tests/job/measured_times.h"

namespace trainctl::job {
namespace {

constexpr double kWorst = 0.10;            // of every row
constexpr double kWorstOfPictures = 0.12;  // of those that pictures stand before
constexpr double kUsual = 0.08;            // of nine rows in ten
constexpr double kMean = 0.04;             // of the magnitudes
// What copies saved at most of a step on two devices: 7b-2gpu-fsdp-micro1 took 0.579 s before.
constexpr double kMostSaved = 0.2;

using enum Use;

double ErrorOf(const Measured& row) { return PredictedSeconds(row) / row.step_seconds - 1; }

class MeasuredTime : public testing::TestWithParam<Measured> {};

TEST_P(MeasuredTime, IsPredictedWithinTenPercent) {
  const double error = ErrorOf(GetParam());
  const double worst = InspectionOf(GetParam()).model.image ? kWorstOfPictures : kWorst;
  RecordProperty("error_percent", std::to_string(100 * error));
  EXPECT_LT(error, worst);
  EXPECT_GT(error, GetParam().use == kBefore ? -worst - kMostSaved : -worst)
      << "predicted " << PredictedSeconds(GetParam()) << " s a step, measured "
      << GetParam().step_seconds;
}

INSTANTIATE_TEST_SUITE_P(Rows, MeasuredTime, testing::ValuesIn(TimedRows()), [](const auto& row) {
  std::string name = row.param.id;
  for (const char c : {'-', '.'}) std::replace(name.begin(), name.end(), c, '_');
  return name;
});

std::vector<double> ErrorsOf(Use use) {
  std::vector<double> errors;
  for (const Measured& row : TimedRows())
    if (row.use == use) errors.push_back(ErrorOf(row));
  return errors;
}

double MeanMagnitude(const std::vector<double>& errors) {
  double sum = 0;
  for (const double error : errors) sum += std::abs(error);
  return sum / static_cast<double>(errors.size());
}

TEST(MeasuredTimes, NineOfTenThatNothingWasFittedToArePredictedWithinEightPercent) {
  const std::vector<double> errors = ErrorsOf(kHeldOut);
  const auto near =
      std::ranges::count_if(errors, [](double error) { return std::abs(error) < kUsual; });
  EXPECT_GE(static_cast<double>(near), 0.9 * static_cast<double>(errors.size()));
}

TEST(MeasuredTimes, ErrorsOfHeldOutRowsAreShownApartFromThoseOfFittedOnes) {
  const double fitted = MeanMagnitude(ErrorsOf(kFitted)),
               held_out = MeanMagnitude(ErrorsOf(kHeldOut));
  RecordProperty("fitted_error_percent", std::to_string(100 * fitted));
  RecordProperty("held_out_error_percent", std::to_string(100 * held_out));
  EXPECT_LT(fitted, kMean);
  EXPECT_LT(held_out, kMean);
}

TEST(MeasuredTimes, HeldOutRowsArePredictedTooLongAsOftenAsTooShort) {
  const std::vector<double> errors = ErrorsOf(kHeldOut);
  const double sum = std::accumulate(errors.begin(), errors.end(), 0.0);
  EXPECT_LT(std::abs(sum / static_cast<double>(errors.size())), 0.03);
}

// quickstart's two experiments, full and LoRA, on a CPU slot of one thread. With rows padded to
// multiples of 64 a step took 4.93 and 4.17 s. Since then it takes 0.772 and 0.775 of the
// processor's time.
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
  EXPECT_NEAR(seconds(), 3.81, 0.1 * 3.81);
  job.lora = LoraSpec{.r = 8};
  EXPECT_NEAR(seconds(), 3.23, 0.1 * 3.23);
}

}  // namespace
}  // namespace trainctl::job
