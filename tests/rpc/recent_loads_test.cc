#include "server/coordinator/recent_loads.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace trainctl::coordinator {
namespace {

using Points = std::vector<std::optional<double>>;

Points Last(const RecentLoads::Curve& curve, size_t count) {
  return {curve.end() - static_cast<ptrdiff_t>(count), curve.end()};
}

class RecentLoadsTest : public testing::Test {
 protected:
  void Add(int64_t seconds, std::optional<double> utilization, double cpu = 25,
           const std::string& worker = "alpha/0") {
    loads_.Add(worker, {.utilization_percent = utilization}, {.cpu_percent = cpu},
               seconds * 1'000'000);
  }
  RecentLoads::Curves At(int64_t seconds) const {
    return loads_.Of("alpha/0", seconds * 1'000'000);
  }

  RecentLoads loads_;
};

TEST_F(RecentLoadsTest, HoldTheMeanOfEachHalfMinute) {
  Add(3000, 0);
  Add(3030, 100);
  Add(3090, 100);
  Add(3091, 0);
  EXPECT_EQ(Last(At(3091).device, 5), (Points{std::nullopt, 0, 100, std::nullopt, 50}));
  EXPECT_EQ(Last(At(3091).host, 4), (Points{25, 25, std::nullopt, 25}));
  EXPECT_EQ(Last(At(3125).device, 3), (Points{std::nullopt, 50, std::nullopt}))
      << "time passes without samples too";
  Add(3000 + 330, 100);
  EXPECT_EQ(Last(At(3330).device, 10),
            (Points{std::nullopt, 50, std::nullopt, std::nullopt, std::nullopt, std::nullopt,
                    std::nullopt, std::nullopt, std::nullopt, 100}))
      << "older ones are gone";
}

TEST_F(RecentLoadsTest, WhatADeviceDoesNotTellIsNotThere) {
  Add(3000, std::nullopt, 50);
  Add(3001, std::numeric_limits<double>::quiet_NaN(), 50);
  EXPECT_EQ(At(3001).device, RecentLoads::Curve());
  EXPECT_EQ(At(3001).host.back(), 50);
  EXPECT_EQ(loads_.Of("beta/0", 3'001'000'000).host, RecentLoads::Curve());
}

TEST_F(RecentLoadsTest, AWorkerThatIsAwayIsForgotten) {
  Add(3000, 10);
  Add(3000, 10, 10, "beta/0");
  Add(3299, 10, 10, "beta/0");
  EXPECT_EQ(loads_.workers(), 2u);
  Add(3300, 10, 10, "beta/0");
  EXPECT_EQ(loads_.workers(), 1u);
}

}  // namespace
}  // namespace trainctl::coordinator
