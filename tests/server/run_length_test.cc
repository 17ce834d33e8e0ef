#include "server/core/run_length.h"

#include <gtest/gtest.h>

#include <limits>

namespace trainctl::core {
namespace {

constexpr int64_t kMinute = 60'000'000;
constexpr int64_t kCentury = int64_t{100} * 365 * 24 * 60 * kMinute;

Job Predicted(double seconds) {
  Job job;
  job.row.prediction = job::Prediction{.time = job::TimeEstimate{.total_seconds = seconds}};
  return job;
}

TEST(RunLength, IsSaidInUnitsOfItsSize) {
  EXPECT_EQ(WholeMinutes(119), "119 min");
  EXPECT_EQ(WholeMinutes(1'568), "26 h 8 min");
  EXPECT_EQ(WholeMinutes(48 * 60 + 59), "2 d 0 h");
  EXPECT_EQ(AboutMinutes(1'568 * kMinute), "about 26 h 8 min");
}

TEST(RunLength, OfAPredictionHasAMarginAndIsOfWholeMinutes) {
  EXPECT_EQ(LongestRun(Options(), Job()), std::nullopt);
  EXPECT_EQ(LongestRun(Options(), Predicted(120)), 3 * kMinute);
  EXPECT_EQ(LongestRun(Options(), Predicted(121)), 4 * kMinute);
  EXPECT_EQ(LongestRun(Options(), Predicted(0)), kMinute);
}

TEST(RunLength, OfWhateverAClientTellsIsBounded) {
  using Limits = std::numeric_limits<double>;
  for (const double told : {Limits::max(), Limits::infinity(), Limits::quiet_NaN()})
    EXPECT_EQ(LongestRun(Options(), Predicted(told)), kCentury) << told;
  for (const double told : {-1.0, Limits::lowest(), -Limits::infinity()})
    EXPECT_EQ(LongestRun(Options(), Predicted(told)), kMinute) << told;
  Job job;
  job.row.spec.resources.time_limit_seconds = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(LongestRun(Options(), job), kCentury + Options().stop_grace_us);
}

}  // namespace
}  // namespace trainctl::core
