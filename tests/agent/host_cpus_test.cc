#include "worker/agent/host_cpus.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "worker/agent/device.h"

namespace trainctl::agent {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;

HostCpus Host(int cpus) {
  HostCpus host;
  for (int cpu = 0; cpu < cpus; ++cpu) host.allowed.push_back(cpu);
  return host;
}

// Two nodes of two cores with two threads each, numbered as Linux does: the second threads come
// after all first ones.
HostCpus TwoNodes() {
  return {{0, 1, 2, 3, 4, 5, 6, 7},
          {{0, 0}, {1, 0}, {4, 0}, {5, 0}, {2, 1}, {3, 1}, {6, 1}, {7, 1}}};
}

TEST(ShareOut, GivesEachDeviceAContiguousPartOfTheHost) {
  const auto shares = ShareOut(Host(64), std::vector<NumaNode>(4));
  for (int device = 0; device < 4; ++device) {
    ASSERT_EQ(shares[device].size(), 16u);
    EXPECT_EQ(shares[device].front(), 16 * device);
    EXPECT_EQ(shares[device].back(), 16 * device + 15);
  }
}

TEST(ShareOut, LeavesNoCpuOverWhereTheyDoNotDivide) {
  EXPECT_THAT(ShareOut(Host(5), std::vector<NumaNode>(2)),
              ElementsAre(ElementsAre(0, 1), ElementsAre(2, 3, 4)));
}

TEST(ShareOut, WithFewerCpusThanDevicesNoneIsIdleWhileAnotherIsShared) {
  EXPECT_THAT(ShareOut(Host(2), std::vector<NumaNode>(3)),
              ElementsAre(ElementsAre(0), ElementsAre(1), ElementsAre(0)));
}

TEST(ShareOut, KeepsEachGpuOnItsNode) {
  EXPECT_THAT(
      ShareOut(TwoNodes(), {0, 0, 1, 1}),
      ElementsAre(ElementsAre(0, 1), ElementsAre(4, 5), ElementsAre(2, 3), ElementsAre(6, 7)));
  EXPECT_THAT(ShareOut(TwoNodes(), {1, 0}),
              ElementsAre(ElementsAre(2, 3, 6, 7), ElementsAre(0, 1, 4, 5)));
}

TEST(ShareOut, ANodeWithoutDevicesServesAll) {
  EXPECT_THAT(ShareOut(TwoNodes(), {1, 1}),
              ElementsAre(ElementsAre(0, 1, 2, 3), ElementsAre(4, 5, 6, 7)));
}

TEST(ShareOut, IsByNumberWhereANodeIsNotKnownOrHasNoAllowedCpu) {
  EXPECT_THAT(ShareOut(TwoNodes(), {1, std::nullopt}),
              ElementsAre(ElementsAre(0, 1, 4, 5), ElementsAre(2, 3, 6, 7)));
  EXPECT_THAT(ShareOut(TwoNodes(), {0, 2}),
              ElementsAre(ElementsAre(0, 1, 4, 5), ElementsAre(2, 3, 6, 7)));
}

TEST(ShareOut, OfNothingIsNothing) {
  EXPECT_THAT(ShareOut({}, std::vector<NumaNode>(2)), ElementsAre(IsEmpty(), IsEmpty()));
  EXPECT_THAT(ShareOut(Host(2), {}), IsEmpty());
}

TEST(CpusOf, AJobsDevicesHaveTheirOwnPartsWhateverItsRanks) {
  job::RankPlan plan;
  plan.host_place = 0;
  plan.host_devices = {3};
  EXPECT_THAT(CpusOf(plan, 3, Host(8), std::vector<NumaNode>(4)), ElementsAre(6, 7));
}

TEST(CpusOf, AnExclusiveJobsRanksShareTheWholeHost) {
  job::RankPlan plan;
  plan.job.exclusive = true;
  plan.host_devices = {3};
  EXPECT_THAT(CpusOf(plan, 3, TwoNodes(), {0, 0, 1, 1}), ElementsAre(0, 1, 4, 5, 2, 3, 6, 7));
  plan.host_devices = {1, 3};
  EXPECT_THAT(CpusOf(plan, 1, TwoNodes(), {0, 0, 1, 1}), ElementsAre(0, 1, 4, 5));
  plan.host_place = 1;
  EXPECT_THAT(CpusOf(plan, 3, TwoNodes(), {0, 0, 1, 1}), ElementsAre(2, 3, 6, 7));
}

TEST(CpusOf, ASlotBeyondWhatTheHostHasRoomForSharesWithAnother) {
  const auto slot = MakeCpuSlot({.host = "h", .index = 3, .threads = 2});
  const auto slots = slot->HostDevices(Host(4));
  EXPECT_EQ(slots.size(), 2u);
  EXPECT_THAT(CpusOf({}, 3, Host(4), slots), ElementsAre(2, 3));
  EXPECT_THAT(CpusOf({}, 0, {}, MakeCpuSlot({.threads = 2})->HostDevices({})), IsEmpty());
}

TEST(HostCpus, AreThoseThatThisProcessMayUse) {
  EXPECT_THAT(ReadHostCpus().allowed, Not(IsEmpty()));
  EXPECT_EQ(NodeOfPciDevice("00000000:FF:1F.7"), std::nullopt);
  EXPECT_EQ(NodeOfPciDevice("no address"), std::nullopt);
}

}  // namespace
}  // namespace trainctl::agent
