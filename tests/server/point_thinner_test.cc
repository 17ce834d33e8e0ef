// What is left of points of jobs that ended long ago.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "server/store/sqlite_store.h"
#include "tests/server/sample_rows.h"
#include "tests/server/temporary_folder.h"

namespace trainctl::store {
namespace {

constexpr base::WallMicros kEnded = 1'000, kLater = 2'000;

class PointThinnerTest : public testing::Test {
 protected:
  PointThinnerTest() {
    store_ = OpenSqliteStore(folder_.path()).value();
    reader_ = OpenSqliteReader(folder_.path()).value();
  }

  void AddJob(int64_t id) {
    EXPECT_TRUE(store_->Apply(SubmitBatch(id, "job" + std::to_string(id))).ok());
  }
  void EndJob(int64_t id, base::WallMicros at) {
    core::JobStatus status;
    status.state = job::JobState::kFinished;
    status.end = SampleEnd();
    status.ended_at = at;
    EXPECT_TRUE(store_->Apply({{core::UpdateJob{{id}, status}}, {}}).ok());
  }
  // One a step from 0 on, by its step.
  template <class Value>
  void Put(int64_t job, const std::string& name, int64_t steps, Value value) {
    std::vector<job::MetricPoint> points;
    for (int64_t step = 0; step < steps; ++step)
      points.push_back({name, step, std::nullopt, std::nullopt, value(step), 1000 + step});
    ASSERT_TRUE(store_->Apply({{core::MetricRows{{{job}, 1, 0}, std::move(points)}}, {}}).ok());
  }
  std::map<int64_t, double> Points(int64_t job, const std::string& name) {
    std::map<int64_t, double> points;
    EXPECT_TRUE(reader_
                    ->Points({job}, {.names = {name}},
                             [&](std::span<const job::MetricPoint> piece) {
                               for (const job::MetricPoint& point : piece)
                                 points[point.step] = point.value;
                               return true;
                             })
                    .ok());
    return points;
  }
  // Until there is no more to do; how many pieces that were.
  int Thin(base::WallMicros ended_before = kLater) {
    for (int pieces = 1;; ++pieces) {
      const auto piece = store_->ThinPoints({ended_before, 5'000});
      EXPECT_TRUE(piece) << piece.error().message;
      if (!piece || !piece->more) return pieces;
      thinned_.insert(thinned_.end(), piece->thinned.begin(), piece->thinned.end());
    }
  }

  TemporaryFolder folder_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<Reader> reader_;
  std::vector<base::JobId> thinned_;
};

TEST_F(PointThinnerTest, ACurveKeepsItsShapeAndItsSummary) {
  AddJob(1);
  constexpr int64_t kSteps = 25'000, kSpike = 12'345, kDip = 20'001, kNan = 7'777;
  Put(1, "loss", kSteps, [](int64_t step) {
    if (step == kSpike) return 99.0;
    if (step == kDip) return -1.0;
    if (step == kNan) return std::numeric_limits<double>::quiet_NaN();
    return 3 + std::sin(static_cast<double>(step));
  });
  Put(1, "step_seconds", kSteps, [](int64_t step) { return 0.1 + 1e-6 * double(step); });
  EndJob(1, kEnded);
  const auto before = reader_->Summaries({1}).value();
  Thin();
  const auto after = reader_->Summaries({1}).value();
  ASSERT_EQ(after.size(), before.size());
  for (size_t i = 0; i < after.size(); ++i) {
    EXPECT_EQ(after[i].count, before[i].count);
    EXPECT_EQ(after[i].min, before[i].min);
    EXPECT_EQ(after[i].max, before[i].max);
    EXPECT_EQ(after[i].latest, before[i].latest);
  }
  const std::map<int64_t, double> points = Points(1, "loss");
  EXPECT_LE(points.size(), 3 * 250 + 1u);
  EXPECT_GE(points.size(), 500u);
  EXPECT_EQ(points.at(kSpike), 99);
  EXPECT_EQ(points.at(kDip), -1);
  EXPECT_TRUE(std::isnan(points.at(kNan))) << "that it diverged there stays";
  EXPECT_TRUE(points.contains(0));
  EXPECT_TRUE(points.contains(kSteps - 1));
  int64_t widest = 0, last = 0;
  for (const auto& [step, value] : points)
    widest = std::max(widest, step - std::exchange(last, step));
  EXPECT_LE(widest, 2 * kSteps / 250 + 2) << "no stretch is empty";
  EXPECT_EQ(Points(1, "step_seconds").size(), size_t{kSteps}) << "a median is made of them";
  EXPECT_EQ(thinned_, std::vector<base::JobId>{{1}});
  const auto events = reader_->Events({1}).value();
  EXPECT_THAT(events.back().text, testing::HasSubstr("points were thinned"));
}

TEST_F(PointThinnerTest, OnlyJobsThatEndedBeforeAreThinnedAndEachOnce) {
  for (const int64_t job : {1, 2, 3, 4}) {
    AddJob(job);
    Put(job, "loss", job == 4 ? 250 : 1'000, [](int64_t step) { return double(step % 7); });
  }
  EndJob(1, kEnded);
  EndJob(2, kLater);
  EndJob(4, kEnded);
  Thin();
  EXPECT_LT(Points(1, "loss").size(), 1'000u);
  EXPECT_EQ(Points(2, "loss").size(), 1'000u) << "it ended too late";
  EXPECT_EQ(Points(3, "loss").size(), 1'000u) << "it has not ended";
  EXPECT_EQ(Points(4, "loss").size(), 250u) << "it has few";
  EXPECT_EQ(thinned_, std::vector<base::JobId>{{1}});
  thinned_.clear();
  EXPECT_LE(Thin(), 2);
  EXPECT_TRUE(thinned_.empty());
  Thin(kLater + 1);
  EXPECT_LT(Points(2, "loss").size(), 1'000u) << "its time has come";
}

TEST_F(PointThinnerTest, ManyShortSeriesAreOnePiece) {
  for (int64_t job = 1; job <= 30; ++job) {
    AddJob(job);
    for (const char* name : {"loss", "lr"})
      Put(job, name, job == 30 ? 250 : 300, [](int64_t step) { return double(step % 7); });
    EndJob(job, kEnded);
  }
  EXPECT_LE(Thin(), 5) << "to find them, to thin them, to find no more";
  EXPECT_TRUE(thinned_.empty()) << "of two steps both stay";
}

TEST_F(PointThinnerTest, WhatARestartInterruptsIsBegunAnewAndComesToTheSame) {
  for (const int64_t job : {1, 2}) {
    AddJob(job);
    // So many that pieces and stretches don't end together.
    Put(job, "loss", 31'000, [](int64_t step) { return double(step * 7'919 % 10'007); });
  }
  EndJob(2, kEnded);
  Thin();
  const std::map<int64_t, double> straight = Points(2, "loss");
  EndJob(1, kEnded);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(store_->ThinPoints({kLater, 5'000})->more);
  const size_t halfway = Points(1, "loss").size();
  EXPECT_LT(halfway, 31'000u);
  store_.reset();
  store_ = OpenSqliteStore(folder_.path()).value();
  Thin();
  EXPECT_LT(Points(1, "loss").size(), halfway);
  EXPECT_EQ(Points(1, "loss"), straight);
  EXPECT_LE(straight.size(), 3 * 250 + 1u);
  EXPECT_EQ(reader_->Events({1}).value().size(), 1u) << "it is said once";
}

TEST_F(PointThinnerTest, AJobThatIsForgottenMeanwhileIsNoTrouble) {
  AddJob(1);
  Put(1, "loss", 50'000, [](int64_t step) { return double(step % 1'000); });
  EndJob(1, kEnded);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(store_->ThinPoints({kLater, 5'000})->more);
  ASSERT_TRUE(store_->Apply({{core::RemoveJob{{1}}}, {}}).ok());
  Thin();
  EXPECT_TRUE(thinned_.empty());
  EXPECT_TRUE(store_->Apply(SubmitBatch(2, "next")).ok());
}

}  // namespace
}  // namespace trainctl::store
