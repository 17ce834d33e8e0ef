// Many points as few, so that the picture is the same.
#include "server/web/curve.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace trainctl::web {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

job::MetricPoint PointAt(int64_t step, double value) {
  return {"loss", step, std::nullopt, std::nullopt, value, 1000 + step};
}

TEST(Curve, FewPointsComeBackAsTheyAre) {
  Curve curve(10);
  for (int step = 0; step < 7; ++step) curve.Add(PointAt(step * 5, step % 3));
  const auto points = curve.Points();
  ASSERT_EQ(points.size(), 7u);
  for (size_t i = 0; i < points.size(); ++i) {
    EXPECT_EQ(points[i].step, static_cast<int64_t>(i) * 5);
    EXPECT_EQ(points[i].value, static_cast<double>(i % 3));
    EXPECT_EQ(points[i].time, 1000 + points[i].step);
  }
}

TEST(Curve, OfAMillionPointsFewAreLeftInOrderWithEachSpike) {
  Curve curve(100);
  for (int step = 0; step < 1'000'000; ++step) {
    const double spike = step == 123'456 ? 50 : step == 777'777 ? -50 : 0;
    curve.Add(PointAt(step, std::sin(step / 1000.0) + spike));
  }
  const auto points = curve.Points();
  EXPECT_EQ(curve.count(), 1'000'000);
  EXPECT_LE(points.size(), 402u);
  EXPECT_GE(points.size(), 200u);
  EXPECT_TRUE(std::ranges::is_sorted(points, {}, &CurvePoint::step));
  EXPECT_EQ(points.front().step, 0);
  EXPECT_EQ(points.back().step, 999'999);
  const auto [least, most] = std::ranges::minmax(points, {}, &CurvePoint::value);
  EXPECT_EQ(least.step, 777'777);
  EXPECT_EQ(most.step, 123'456);
}

TEST(Curve, AStretchWithoutNumbersStaysAGap) {
  Curve curve(4);
  for (int step = 0; step < 64; ++step) curve.Add(PointAt(step, step < 32 ? step : kNan));
  const auto points = curve.Points();
  EXPECT_TRUE(std::ranges::any_of(points, [](const auto& p) { return std::isnan(p.value); }));
  const auto highest = std::ranges::max_element(points, [](const auto& a, const auto& b) {
    return std::isnan(b.value) ? false : std::isnan(a.value) ? true : a.value < b.value;
  });
  EXPECT_EQ(highest->value, 31) << "a NaN beside it hides no number";
}

TEST(Curve, ALoneNanDoesNotHideItsNeighbours) {
  Curve curve(1);
  curve.Add(PointAt(0, kNan));
  curve.Add(PointAt(1, 3));
  curve.Add(PointAt(2, 1));
  curve.Add(PointAt(3, kNan));
  const auto points = curve.Points();
  const auto has = [&](double value) {
    return std::ranges::any_of(points, [&](const auto& p) { return p.value == value; });
  };
  EXPECT_TRUE(has(3));
  EXPECT_TRUE(has(1));
}

}  // namespace
}  // namespace trainctl::web
