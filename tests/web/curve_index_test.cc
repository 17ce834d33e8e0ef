// How many points the index of curves reads from a real store.
#include "server/web/curve_index.h"

#include <gtest/gtest.h>

#include "common/base/check.h"
#include "tests/web/stored_job.h"

namespace trainctl::web {
namespace {

class CurveIndexTest : public testing::Test {
 protected:
  void Add(int64_t first, int64_t last, double value, std::optional<int64_t> rank = std::nullopt) {
    std::vector<job::MetricPoint> points;
    for (int64_t step = first; step <= last; ++step)
      points.push_back({"loss", step, rank, std::nullopt, value, step});
    job_.Add(std::move(points), rank.value_or(0));
  }

  Curves Read(CurveIndex& index) {
    const auto curves = index.Read(job_.reader(), {.job = "j1", .metric = "loss", .buckets = 20});
    CHECK(curves.ok()) << curves.error().message;
    return *curves;
  }

  void ExpectAsReadAnew(const Curves& shown) {
    CurveIndex fresh;
    EXPECT_EQ(CurvesDocument(shown).dump(), CurvesDocument(Read(fresh)).dump());
  }

  StoredJob job_;
  CurveIndex index_;
};

TEST_F(CurveIndexTest, OnlyWhatCameSinceIsRead) {
  Add(0, 999, 2);
  ExpectAsReadAnew(Read(index_));
  EXPECT_EQ(index_.points_read(), 1000);
  Read(index_);
  EXPECT_EQ(index_.points_read(), 1001) << "the newest, which may be told anew";
  Add(1000, 1009, 3);
  ExpectAsReadAnew(Read(index_));
  EXPECT_EQ(index_.points_read(), 1012);
}

TEST_F(CurveIndexTest, AStepThatIsToldAnewHasItsLastValue) {
  Add(0, 99, 2);
  Read(index_);
  Add(99, 99, 5);
  ExpectAsReadAnew(Read(index_));
  Add(100, 100, 2);
  const Curves curves = Read(index_);
  ExpectAsReadAnew(curves);
  EXPECT_EQ(curves.curves[0].curve.count(), 101);
}

TEST_F(CurveIndexTest, ANewAttemptTakesThePlaceOfPointsThatWereRead) {
  Add(0, 99, 2);
  Read(index_);
  job_.Begin(2);
  Add(50, 149, 7);
  const Curves curves = Read(index_);
  ExpectAsReadAnew(curves);
  EXPECT_EQ(curves.curves[0].curve.count(), 150);
}

TEST_F(CurveIndexTest, ANewAttemptIsReadAnewUntilItIsBeyondAllOfTheEarlierOne) {
  Add(0, 99, 2);
  job_.Begin(2);
  ExpectAsReadAnew(Read(index_));
  Add(50, 69, 7);
  ExpectAsReadAnew(Read(index_));
  Add(70, 120, 7);
  ExpectAsReadAnew(Read(index_));
  const int64_t before = index_.points_read();
  Add(121, 129, 7);
  ExpectAsReadAnew(Read(index_));
  EXPECT_EQ(index_.points_read(), before + 10);
}

TEST_F(CurveIndexTest, RanksGoOnEachByItselfAndALateOneIsReadFromItsBeginning) {
  Add(0, 99, 2, 0);
  ExpectAsReadAnew(Read(index_));
  Add(0, 49, 3, 1);
  Add(100, 109, 2, 0);
  Read(index_);
  Add(50, 119, 3, 1);
  const Curves curves = Read(index_);
  ExpectAsReadAnew(curves);
  ASSERT_EQ(curves.curves.size(), 2u);
  EXPECT_EQ(curves.curves[1].curve.count(), 120);
}

}  // namespace
}  // namespace trainctl::web
