#include "worker/agent/device_watch.h"

#include <gtest/gtest.h>

namespace trainctl::agent {
namespace {

class ScriptedDevice : public Device {
 public:
  const job::Device& info() const override { return info_; }
  std::optional<job::DeviceSample> Sample() override { return std::nullopt; }
  std::vector<GpuProcess> Processes() override { return {}; }
  std::optional<GpuFaults> Faults() override { return GpuFaults(); }
  std::string WhyNotFree() override { return why_not_free; }
  std::vector<std::string> Environment() const override { return {}; }
  std::vector<NumaNode> HostDevices(const HostCpus&) const override { return {}; }

  std::string why_not_free;

 private:
  job::Device info_;
};

class DeviceWatchTest : public testing::Test {
 protected:
  ScriptedDevice device_;
  base::FakeClock clock_;
  DeviceWatch watch_{device_, clock_};
};

TEST_F(DeviceWatchTest, TellsChangesOnly) {
  EXPECT_EQ(watch_.Check({}), (DeviceWord{true, ""}));
  EXPECT_EQ(watch_.Check({}), std::nullopt);
  device_.why_not_free = "in use";
  EXPECT_EQ(watch_.Check({}), (DeviceWord{false, "in use"}));
  EXPECT_EQ(watch_.Check({}), std::nullopt);
  watch_.Forget();
  EXPECT_EQ(watch_.Check({}), (DeviceWord{false, "in use"})) << "to a coordinator that starts anew";
}

// What the rank said at its start may reach the coordinator after the word, and undo it.
TEST_F(DeviceWatchTest, TellsAgainAfterAWhile) {
  watch_.Check({});
  clock_.Advance(DeviceWatch::kTellAgainMicros - 1);
  EXPECT_EQ(watch_.Check({}), std::nullopt);
  clock_.Advance(1);
  EXPECT_EQ(watch_.Check({}), (DeviceWord{true, ""}));
  EXPECT_EQ(watch_.Check({}), std::nullopt);
}

TEST_F(DeviceWatchTest, IsNotFreeWhereNoRankCanBeStarted) {
  EXPECT_EQ(watch_.Look({.unable = "the disk is full"}), (DeviceWord{false, "the disk is full"}));
}

TEST_F(DeviceWatchTest, SaysNothingWhileARankRuns) {
  EXPECT_EQ(watch_.Check({.rank_runs = true}), std::nullopt);
  EXPECT_FALSE(watch_.Look({.rank_runs = true}).free);
}

TEST_F(DeviceWatchTest, OwesAWordAfterEachEnd) {
  watch_.Check({});
  watch_.RankEnded();
  EXPECT_EQ(watch_.Check({}), (DeviceWord{true, ""})) << "though nothing has changed";
  EXPECT_FALSE(watch_.settling());
}

TEST_F(DeviceWatchTest, GivesTheMemoryTimeToComeBack) {
  device_.why_not_free = "90 GiB in use";
  watch_.RankEnded();
  EXPECT_EQ(watch_.Check({}), std::nullopt);
  clock_.Advance(DeviceWatch::kSettleMicros);
  EXPECT_EQ(watch_.Check({}), (DeviceWord{false, "90 GiB in use"}));
  EXPECT_EQ(watch_.Check({}), std::nullopt);
  device_.why_not_free = "";
  EXPECT_EQ(watch_.Check({}), (DeviceWord{true, ""})) << "it is looked at for ever";
}

TEST_F(DeviceWatchTest, IsNotFreeWithProcessesThatCannotBeEnded) {
  EXPECT_EQ(watch_.Look({.leftovers = "processes of j1"}), (DeviceWord{false, "processes of j1"}));
}

}  // namespace
}  // namespace trainctl::agent
