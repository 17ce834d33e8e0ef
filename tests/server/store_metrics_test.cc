// Metric points and the summaries kept at their ingestion.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "server/store/sqlite_store.h"
#include "tests/server/sample_rows.h"
#include "tests/server/temporary_folder.h"

namespace trainctl::store {
namespace {

constexpr base::JobId kJob{1};

class StoreMetricsTest : public testing::Test {
 protected:
  StoreMetricsTest() {
    store_ = OpenSqliteStore(folder_.path()).value();
    reader_ = OpenSqliteReader(folder_.path()).value();
    EXPECT_TRUE(store_->Apply(SubmitBatch(kJob.value, "first")).ok());
  }

  void Reopen() {
    store_.reset();
    store_ = OpenSqliteStore(folder_.path()).value();
  }
  void Put(int64_t attempt, std::vector<job::MetricPoint> points) {
    const base::Status status =
        store_->Apply({{core::MetricRows{{kJob, attempt, 0}, std::move(points)}}, {}});
    ASSERT_TRUE(status.ok()) << status.error().message;
  }
  // Losses of the gang from `step` on.
  void PutLosses(int64_t attempt, int64_t step, const std::vector<double>& values) {
    std::vector<job::MetricPoint> points;
    for (const double value : values)
      points.push_back({"loss", step++, std::nullopt, std::nullopt, value, 1000 + step});
    Put(attempt, std::move(points));
  }
  void Rewind(int64_t attempt, int64_t step) {
    ASSERT_TRUE(store_->Apply({{core::RewindRow{kJob, attempt, step}}, {}}).ok());
  }
  job::MetricSummary Summary() { return reader_->Summaries(kJob).value().at(0); }
  std::vector<job::MetricPoint> Points(const MetricFilter& filter = {}) {
    std::vector<job::MetricPoint> all;
    const base::Status status =
        reader_->Points(kJob, filter, [&](std::span<const job::MetricPoint> piece) {
          all.insert(all.end(), piece.begin(), piece.end());
          return true;
        });
    EXPECT_TRUE(status.ok());
    return all;
  }

  TemporaryFolder folder_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<Reader> reader_;
};

TEST_F(StoreMetricsTest, PointsComeBackInOrderOfNameRankPhaseAndStep) {
  Put(1, {{"step_seconds", 1, 0, std::nullopt, 0.5, 11},
          {"loss", 1, std::nullopt, std::nullopt, 2, 12},
          {"loss", 0, std::nullopt, std::nullopt, 3, 13},
          {"step_seconds", 0, 1, std::nullopt, 0.25, 14},
          {"memory_params_bytes", 0, 1, job::Phase::kBeforeForward, 7, 15},
          {"memory_params_bytes", 0, 1, job::Phase::kAfterForward, 8, 16}});
  const std::vector<job::MetricPoint> points = Points();
  ASSERT_EQ(points.size(), 6u);
  EXPECT_EQ(points[0].value, 3);
  EXPECT_EQ(points[0].rank, std::nullopt);
  EXPECT_EQ(points[1].value, 2);
  EXPECT_EQ(points[2].phase, job::Phase::kAfterForward);
  EXPECT_EQ(points[3].phase, job::Phase::kBeforeForward);
  EXPECT_EQ(points[4].rank, 0);
  EXPECT_EQ(points[5].rank, 1);
  EXPECT_EQ(points[5].time, 14);
}

TEST_F(StoreMetricsTest, FiltersByNameAndRank) {
  Put(1, {{"a", 0, 0, std::nullopt, 1, 0},
          {"b", 0, 0, std::nullopt, 2, 0},
          {"b", 0, 1, std::nullopt, 3, 0},
          {"b", 0, std::nullopt, std::nullopt, 4, 0}});
  EXPECT_EQ(Points({.names = {"b"}}).size(), 3u);
  ASSERT_EQ(Points({.names = {"b"}, .rank = 1}).size(), 1u);
  EXPECT_EQ(Points({.names = {"b"}, .rank = 1})[0].value, 3);
  EXPECT_TRUE(Points({.names = {"c"}}).empty());
}

TEST_F(StoreMetricsTest, GoesOnBehindAPoint) {
  using enum job::Phase;
  Put(1, {{"a", 0, std::nullopt, std::nullopt, 1, 0},
          {"a", 1, std::nullopt, std::nullopt, 2, 0},
          {"a", 0, 0, kAfterForward, 3, 0},
          {"a", 0, 0, kBeforeForward, 4, 0},
          {"a", 5, 0, kBeforeForward, 5, 0},
          {"b", 0, 1, std::nullopt, 6, 0}});
  const std::vector<job::MetricPoint> all = Points();
  ASSERT_EQ(all.size(), 6u);
  for (size_t i = 0; i < all.size(); ++i) {
    const auto rest = Points({.behind = all[i]});
    ASSERT_EQ(rest.size(), all.size() - i - 1);
    for (size_t j = 0; j < rest.size(); ++j) EXPECT_EQ(rest[j].value, all[i + 1 + j].value);
  }
  EXPECT_EQ(Points({.rank = 0, .behind = all[2]}).size(), 2u);
}

TEST_F(StoreMetricsTest, FiltersByStep) {
  PutLosses(1, 0, {5, 4, 3, 2, 1});
  MetricFilter filter;
  filter.first_step = 1;
  filter.last_step = 3;
  const auto points = Points(filter);
  ASSERT_EQ(points.size(), 3u);
  EXPECT_EQ(points.front().value, 4);
  EXPECT_EQ(points.back().value, 2);
}

TEST_F(StoreMetricsTest, OfManyPointsInTurnOfTheirSeriesTheLaterOfAStepStays) {
  std::vector<job::MetricPoint> points;
  for (int64_t i = 0; i < 111; ++i) {
    const int64_t step = i / 3 == 36 ? 5 : i / 3;  // the last of each series says step 5 again
    points.push_back({std::string(1, static_cast<char>('a' + i % 3)), step, std::nullopt,
                      std::nullopt, static_cast<double>(i), i});
  }
  Put(1, points);
  const std::vector<job::MetricPoint> stored = Points();
  ASSERT_EQ(stored.size(), 108u);
  for (size_t i = 0; i < stored.size(); ++i) {
    const auto series = static_cast<int64_t>(i / 36), step = static_cast<int64_t>(i % 36);
    EXPECT_EQ(stored[i].name, std::string(1, static_cast<char>('a' + series)));
    EXPECT_EQ(stored[i].step, step);
    EXPECT_EQ(stored[i].time, 3 * (step == 5 ? 36 : step) + series);
  }
}

TEST_F(StoreMetricsTest, SummariesAreKeptOverBatchesAndRestarts) {
  PutLosses(1, 0, {4, 2});
  Reopen();
  PutLosses(1, 2, {6});
  const job::MetricSummary summary = Summary();
  EXPECT_EQ(summary.latest, 6);
  EXPECT_EQ(summary.min, 2);
  EXPECT_EQ(summary.max, 6);
  EXPECT_EQ(summary.mean(), 4);
  EXPECT_EQ(summary.count, 3);
}

TEST_F(StoreMetricsTest, ALaterAttemptReplacesTheStepsThatItReaches) {
  PutLosses(1, 0, {10, 20, 30, 40});
  Rewind(2, 2);
  PutLosses(2, 2, {3, 4});
  std::vector<double> values;
  for (const job::MetricPoint& point : Points()) values.push_back(point.value);
  EXPECT_EQ(values, (std::vector<double>{10, 20, 3, 4}));
  EXPECT_EQ(Summary().count, 4);
  EXPECT_EQ(Summary().mean(), 37.0 / 4);
  EXPECT_EQ(Summary().max, 20);
  EXPECT_EQ(Summary().latest, 4);
}

// The rates and medians are those of the steps that the model was trained in.
TEST_F(StoreMetricsTest, StepsThatWereTrainedInVainAreGone) {
  PutLosses(1, 0, {10, 20, 30, 40});
  for (const bool is_reopened : {false, true}) {
    if (is_reopened) Reopen();
    Rewind(2, 2);
    ASSERT_EQ(Points().size(), 2u);
    EXPECT_EQ(Points()[1].value, 20);
    EXPECT_EQ(Summary().latest, 20);
    EXPECT_EQ(Summary().count, 2);
    EXPECT_EQ(Summary().max, 20);
    EXPECT_EQ(Summary().mean(), 15);
  }
  PutLosses(1, 2, {30});  // told late
  EXPECT_EQ(Points().size(), 2u);
  PutLosses(2, 2, {3});
  EXPECT_EQ(Points().size(), 3u);
  EXPECT_EQ(Summary().latest, 3);
  EXPECT_EQ(Summary().count, 3);
}

TEST_F(StoreMetricsTest, ATrialsTimeOutlivesARestartFromTheFirstStep) {
  Put(1, {{"trial_seconds", 0, std::nullopt, std::nullopt, 7, 0}});
  Rewind(2, 0);
  ASSERT_EQ(Points().size(), 1u);
  EXPECT_EQ(Summary().latest, 7);
  EXPECT_EQ(Summary().count, 1);
}

TEST_F(StoreMetricsTest, WhatALaterAttemptToldBeforeItsFirstStepStays) {
  Put(1, {{"gpu_utilization", 0, 0, std::nullopt, 90, 0},
          {"gpu_utilization", 5, 0, std::nullopt, 80, 0}});
  Put(2, {{"gpu_utilization", 0, 0, std::nullopt, 10, 0}});  // it loads
  Rewind(2, 3);
  ASSERT_EQ(Points().size(), 1u);
  EXPECT_EQ(Points()[0].value, 10);
}

TEST_F(StoreMetricsTest, AnOlderAttemptChangesNothingAnyMore) {
  PutLosses(2, 0, {1});
  PutLosses(1, 0, {10, 20});
  ASSERT_EQ(Points().size(), 1u);
  EXPECT_EQ(Points()[0].value, 1);
}

TEST_F(StoreMetricsTest, ADivergedLossIsAFact) {
  PutLosses(1, 0, {1, std::nan(""), std::numeric_limits<double>::infinity()});
  EXPECT_TRUE(std::isnan(Points()[1].value));
  EXPECT_TRUE(std::isinf(Points()[2].value));
  PutLosses(1, 3, {std::nan("")});
  EXPECT_TRUE(std::isnan(Summary().latest));
  EXPECT_EQ(Summary().min, 1);
  EXPECT_EQ(Summary().count, 2);
}

TEST_F(StoreMetricsTest, WhoHasSeenEnoughIsNotGivenMore) {
  PutLosses(1, 0, std::vector<double>(10'000, 1.0));
  int pieces = 0;
  EXPECT_TRUE(
      reader_->Points(kJob, {}, [&](std::span<const job::MetricPoint>) { return ++pieces < 2; })
          .ok());
  EXPECT_EQ(pieces, 2);
  EXPECT_EQ(Points().size(), 10'000u);
}

TEST_F(StoreMetricsTest, ACounterGoesOnOverAttemptsFromWhereItBegins) {
  const auto put = [&](int64_t attempt, int64_t step, double joules) {
    Put(attempt, {{"gpu_energy_joules", step, 0, std::nullopt, joules, 0}});
  };
  put(1, 5, 250);
  EXPECT_EQ(Summary().max, 250) << "of one sample";
  put(1, 9, 400);
  put(2, 3, 100);  // again from 0, from an earlier step
  Reopen();
  put(2, 8, 150);
  put(3, 0, 10);
  EXPECT_EQ(Summary().max, 560);
  EXPECT_EQ(Summary().latest, 560);
  const std::vector<job::MetricPoint> points = Points();
  ASSERT_EQ(points.size(), 5u);
  EXPECT_EQ(points[0].value, 560);
  EXPECT_EQ(points[1].value, 500);
}

TEST_F(StoreMetricsTest, AListingsThroughputIsTheTotalOverTheTimeOfTheSteps) {
  EXPECT_EQ(reader_->Jobs({}).value().at(0).tokens_per_second, std::nullopt);
  Put(1, {{"step_seconds", 0, std::nullopt, std::nullopt, 3, 0},
          {"tokens", 0, std::nullopt, std::nullopt, 300, 0},
          {"tokens_per_second", 0, std::nullopt, std::nullopt, 100, 0},
          {"step_seconds", 1, std::nullopt, std::nullopt, 1, 0},
          {"tokens", 1, std::nullopt, std::nullopt, 500, 0},
          {"tokens_per_second", 1, std::nullopt, std::nullopt, 500, 0}});
  EXPECT_EQ(reader_->Jobs({}).value().at(0).tokens_per_second, 200);
}

TEST_F(StoreMetricsTest, ABatchThatFailsLeavesTheSummaryAsItWas) {
  PutLosses(1, 0, {4});
  Batch batch;
  batch.rows.push_back(
      core::MetricRows{{kJob, 1, 0}, {{"loss", 1, std::nullopt, std::nullopt, 100, 0}}});
  batch.rows.push_back(core::EventRow{{999}, 0, "of no job"});
  EXPECT_FALSE(store_->Apply(batch).ok());
  PutLosses(1, 1, {6});
  EXPECT_EQ(Summary().mean(), 5);
  EXPECT_EQ(Points().size(), 2u);
}

}  // namespace
}  // namespace trainctl::store
