#include "worker/agent/fault_watch.h"

#include <gtest/gtest.h>

#include <utility>

namespace trainctl::agent {
namespace {

class FaultyDevice : public Device {
 public:
  const job::Device& info() const override { return info_; }
  std::optional<job::DeviceSample> Sample() override { return std::nullopt; }
  std::vector<GpuProcess> Processes() override { return {}; }
  std::optional<GpuFaults> Faults() override {
    if (!answers) return std::nullopt;
    return GpuFaults{std::exchange(xids, {}), reset_pending};
  }
  std::string WhyNotFree() override { return ""; }
  std::vector<std::string> Environment() const override { return {}; }
  std::vector<NumaNode> HostDevices(const HostCpus&) const override { return {}; }

  std::vector<int64_t> xids;
  std::optional<bool> reset_pending = false;
  bool answers = true;

 private:
  job::Device info_;
};

class FaultWatchTest : public testing::Test {
 protected:
  std::vector<int64_t> Xids() const {
    std::vector<int64_t> xids;
    for (const job::DeviceFault& fault : watch_.faults()) xids.push_back(fault.xid);
    return xids;
  }
  bool See(std::vector<int64_t> xids) {
    device_.xids = std::move(xids);
    return watch_.Look();
  }
  using Numbers = std::vector<int64_t>;

  FaultyDevice device_;
  base::FakeClock clock_;
  FaultWatch watch_{device_, clock_};
};

TEST_F(FaultWatchTest, TellsEachFaultWithItsLastTime) {
  EXPECT_FALSE(watch_.Look());
  EXPECT_TRUE(See({31, 79, 31}));
  EXPECT_EQ(Xids(), (Numbers{79, 31}));
  EXPECT_NE(watch_.faults()[0].at, watch_.faults()[1].at) << "though the clock stood";
  const base::WallMicros before = watch_.faults()[0].at;
  EXPECT_FALSE(watch_.Look());
  clock_.Advance(1'000'000);
  EXPECT_TRUE(See({79}));
  EXPECT_EQ(Xids(), (Numbers{31, 79}));
  EXPECT_GT(watch_.faults()[1].at, before);
}

TEST_F(FaultWatchTest, ASuspectDeviceIsWellOnceItWasCleanForAWhileABadOneNever) {
  See({94, 79, 31});
  clock_.Advance(FaultWatch::kCleanMicros - 1);
  EXPECT_FALSE(watch_.Look());
  clock_.Advance(1);
  EXPECT_TRUE(watch_.Look());
  EXPECT_EQ(Xids(), Numbers{79});
}

TEST_F(FaultWatchTest, IsSuspectForAsLongAsAResetIsDue) {
  device_.reset_pending = true;
  EXPECT_TRUE(watch_.Look()) << "what came before this worker shows";
  EXPECT_EQ(Xids(), Numbers{job::kXidRowsWaitForReset});
  clock_.Advance(2 * FaultWatch::kCleanMicros);
  EXPECT_FALSE(watch_.Look());
  device_.reset_pending = false;
  EXPECT_TRUE(watch_.Look());
  EXPECT_TRUE(Xids().empty());
}

TEST_F(FaultWatchTest, ADriverThatDoesNotSayEndsNoWaitForAReset) {
  device_.reset_pending = true;
  watch_.Look();
  const std::vector<job::DeviceFault> before = watch_.faults();
  clock_.Advance(2 * FaultWatch::kCleanMicros);
  device_.answers = false;
  EXPECT_FALSE(watch_.Look());
  device_.answers = true;
  device_.reset_pending = std::nullopt;
  EXPECT_FALSE(watch_.Look());
  device_.reset_pending = true;
  EXPECT_FALSE(watch_.Look());
  EXPECT_EQ(watch_.faults(), before) << "one with another time would undo an operator's undrain";
  device_.reset_pending = std::nullopt;
  EXPECT_TRUE(See({79})) << "what it does say counts";
}

TEST_F(FaultWatchTest, OfTooManyTheBadOnesStay) {
  Numbers xids = {79};
  for (int64_t xid = 200; xid < 300; ++xid) xids.push_back(xid);
  See(xids);
  ASSERT_EQ(Xids().size(), job::kMaxFaults);
  EXPECT_EQ(Xids().front(), 79);
  EXPECT_EQ(Xids().back(), 299);
}

}  // namespace
}  // namespace trainctl::agent
