#include "server/placement/placement.h"

#include <gtest/gtest.h>

#include "server/placement/pack.h"

namespace trainctl::placement {
namespace {

// Free devices of one class on the hosts given as "aabbb": device i is on host text[i], with its
// index there.
FreeDevices Site(const std::string& hosts) {
  FreeDevices site;
  std::map<char, int64_t> next_index;
  for (const char host : hosts) {
    site.SetFree(site.Register({job::DeviceKind::kCuda, std::string(1, host), "H200", 80, "9.0"},
                               next_index[host]++),
                 true);
  }
  return site;
}

std::vector<DeviceId> Choose(const FreeDevices& site, int64_t count) {
  return Policies().front().choose(site, site.pools()[0], count);
}

TEST(Pack, TakesTheLowestIndicesOfOneHost) {
  EXPECT_EQ(Choose(Site("aaaa"), 2), (std::vector<DeviceId>{0, 1}));
}

TEST(Pack, FillsTheHostWithTheFewestFreeDevicesThatAreEnough) {
  EXPECT_EQ(Choose(Site("aaaabbcccc"), 2), (std::vector<DeviceId>{4, 5}));
}

TEST(Pack, SpreadsOverAsFewHostsAsPossibleWhereNoneIsEnough) {
  EXPECT_EQ(Choose(Site("abbccc"), 5), (std::vector<DeviceId>{3, 4, 5, 1, 2}));
}

TEST(Pack, SpreadsOverHostsInOrderOfTheirNamesWhereTheyAreAlike) {
  EXPECT_EQ(Choose(Site("bbaac"), 5), (std::vector<DeviceId>{2, 3, 0, 1, 4}));
}

TEST(Pack, GivesNothingWhereTooFewAreFree) { EXPECT_TRUE(Choose(Site("aab"), 4).empty()); }

using LinksByPair = std::map<std::pair<DeviceId, DeviceId>, job::LinkKind>;

// Says of each pair of one host's devices how it is linked; others are between sockets.
void SetLinks(FreeDevices* site, const std::vector<DeviceId>& host, const LinksByPair& links,
              const std::vector<int64_t>& nodes = {}) {
  for (size_t i = 0; i < host.size(); ++i) {
    job::Device device;
    device.uuid = "GPU-" + std::to_string(host[i]);
    if (!nodes.empty()) device.numa_node = nodes[i];
    for (const DeviceId other : host) {
      const auto link = links.find(std::minmax(host[i], other));
      if (other != host[i])
        device.links["GPU-" + std::to_string(other)] =
            link == links.end() ? job::LinkKind::kBetweenSockets : link->second;
    }
    site->SetLinks(host[i], device);
  }
}

TEST(Pack, TakesTheDevicesOfAHostThatAreLinkedBest) {
  using enum job::LinkKind;
  FreeDevices site = Site("aaaa");
  SetLinks(&site, {0, 1, 2, 3}, {{{0, 3}, kNvlink}, {{1, 2}, kNvlink}, {{0, 1}, kNumaNode}});
  EXPECT_EQ(Choose(site, 2), (std::vector<DeviceId>{0, 3}));
  EXPECT_EQ(Choose(site, 3), (std::vector<DeviceId>{0, 1, 3}));
  EXPECT_EQ(Choose(site, 1), (std::vector<DeviceId>{0}));
  site.SetFree(3, false);
  EXPECT_EQ(Choose(site, 2), (std::vector<DeviceId>{1, 2}));
}

TEST(Pack, OfEqualLinksTakesDevicesOfOneNumaNode) {
  using enum job::LinkKind;
  FreeDevices site = Site("aaaa");
  const LinksByPair all = {{{0, 1}, kNvlink}, {{0, 2}, kNvlink}, {{0, 3}, kNvlink},
                           {{1, 2}, kNvlink}, {{1, 3}, kNvlink}, {{2, 3}, kNvlink}};
  SetLinks(&site, {0, 1, 2, 3}, all, {0, 1, 0, 1});
  EXPECT_EQ(Choose(site, 2), (std::vector<DeviceId>{0, 2}));
  SetLinks(&site, {0, 1, 2, 3}, all, {0, 1, 1, 0});
  EXPECT_EQ(Choose(site, 2), (std::vector<DeviceId>{0, 3}));
}

TEST(Pack, PrefersAHostWithBetterLinksToAFullerOne) {
  FreeDevices site = Site("aabbb");
  SetLinks(&site, {0, 1}, {});
  SetLinks(&site, {2, 3, 4}, {{{3, 4}, job::LinkKind::kNvlink}});
  EXPECT_EQ(Choose(site, 2), (std::vector<DeviceId>{3, 4}));
  EXPECT_EQ(Choose(site, 1), (std::vector<DeviceId>{0}));
}

TEST(Pack, OnTheLastOfSeveralHostsTakesTheBestLinkedToo) {
  FreeDevices site = Site("aaaabbbb");
  SetLinks(&site, {0, 1, 2, 3}, {});
  SetLinks(&site, {4, 5, 6, 7}, {{{5, 6}, job::LinkKind::kNvlink}});
  EXPECT_EQ(Choose(site, 6), (std::vector<DeviceId>{0, 1, 2, 3, 5, 6}));
}

std::vector<DeviceId> ChooseLinked(const FreeDevices& site, int64_t count, const char* links) {
  return PackLinked(site, site.pools()[0], count,
                    job::ParseConstraint(job::kLinksKey, links).value());
}

TEST(PackLinked, TakesDevicesOfOneHostOfWhichEachTwoAreLinkedSo) {
  using enum job::LinkKind;
  FreeDevices site = Site("aaaabbbb");
  SetLinks(&site, {0, 1, 2, 3}, {{{0, 1}, kOneSwitch}, {{2, 3}, kOneSwitch}});
  SetLinks(&site, {4, 5, 6, 7}, {{{4, 6}, kNvlink}, {{4, 7}, kNvlink}, {{6, 7}, kNvlink}});
  EXPECT_EQ(ChooseLinked(site, 2, "=PIX"), (std::vector<DeviceId>{0, 1}));
  EXPECT_EQ(ChooseLinked(site, 2, ">=PIX"), (std::vector<DeviceId>{4, 6})) << "the best of all";
  EXPECT_EQ(ChooseLinked(site, 3, ">=PIX"), (std::vector<DeviceId>{4, 6, 7}));
  EXPECT_TRUE(ChooseLinked(site, 4, ">=PIX").empty());
  EXPECT_EQ(ChooseLinked(site, 4, ">=SYS"), (std::vector<DeviceId>{4, 5, 6, 7}));
  EXPECT_TRUE(ChooseLinked(site, 5, ">=SYS").empty()) << "there is no link between hosts";
  site.SetFree(6, false);
  EXPECT_TRUE(ChooseLinked(site, 3, ">=PIX").empty());
}

TEST(PackLinked, FindsAGroupThatTheClosestDeviceIsNotOf) {
  using enum job::LinkKind;
  FreeDevices site = Site("aaaa");
  // By growing, each takes its neighbour by NVLink first, with whom no third has a switch.
  SetLinks(&site, {0, 1, 2, 3},
           {{{0, 3}, kNvlink}, {{0, 1}, kOneSwitch}, {{0, 2}, kOneSwitch}, {{1, 2}, kOneSwitch}});
  EXPECT_EQ(ChooseLinked(site, 3, ">=PIX"), (std::vector<DeviceId>{0, 1, 2}));
}

TEST(PackLinked, LinksThatNobodyHasToldOfWillNotDo) {
  EXPECT_TRUE(ChooseLinked(Site("aa"), 2, ">=SYS").empty());
  EXPECT_TRUE(ChooseLinked(Site("aa"), 2, "!=NVLink").empty());
}

TEST(FreeDevices, OfAPartOfAPoolOnlyItsFreeDevicesCount) {
  const FreeDevices site = Site("aabbbc");
  const FreeDevices::Pool pool =
      site.pools()[0].Where([](DeviceId device) { return device < 2 || device > 4; });
  EXPECT_EQ(pool.free, 3);
  EXPECT_EQ(pool.total, 6);
  EXPECT_EQ(Pack(site, pool, 2), (std::vector<DeviceId>{0, 1}));
  EXPECT_EQ(Pack(site, pool, 3), (std::vector<DeviceId>{0, 1, 5}));
  EXPECT_TRUE(Pack(site, pool, 4).empty());
}

DeviceSet SetOf(const std::vector<DeviceId>& devices) {
  DeviceSet set;
  for (const DeviceId device : devices) set.Insert(device);
  return set;
}

TEST(DeviceSet, HasWhatWasInsertedAndNotErased) {
  DeviceSet set = SetOf({3, 64, 64, 200});
  EXPECT_TRUE(set.Contains(64));
  EXPECT_FALSE(set.Contains(63));
  EXPECT_FALSE(set.Contains(100'000)) << "beyond all that were inserted";
  set.Erase(64);
  set.Erase(64);
  set.Erase(100'000);
  EXPECT_FALSE(set.Contains(64));
  set.Erase(SetOf({3, 5, 1000}));
  EXPECT_FALSE(set.IsEmpty());
  set.Erase(SetOf({200}));
  EXPECT_TRUE(set.IsEmpty());
  EXPECT_TRUE(DeviceSet().IsEmpty());
}

TEST(DeviceSet, SaysWhatItHasInCommonWithAnother) {
  const DeviceSet few = SetOf({1, 70}), many = SetOf({0, 70, 71, 400});
  EXPECT_TRUE(few.Meets(many));
  EXPECT_TRUE(many.Meets(few));
  EXPECT_EQ(few.CountIn(many), 1);
  EXPECT_EQ(many.CountIn(many), 4);
  EXPECT_FALSE(few.Meets(SetOf({0, 71})));
  EXPECT_FALSE(few.Meets(DeviceSet()));
}

TEST(DeviceSet, TellsItsDevicesInOrder) {
  const DeviceSet set = SetOf({400, 1, 70, 63});
  std::vector<DeviceId> told;
  const bool any = set.Any([&](DeviceId device) {
    told.push_back(device);
    return device == 70;
  });
  EXPECT_TRUE(any);
  EXPECT_EQ(told, (std::vector<DeviceId>{1, 63, 70}));
  EXPECT_EQ(set.Count([](DeviceId device) { return device % 2 == 0; }), 2);
}

TEST(FreeDevices, KnowsThoseThatAreFreeOfAllClasses) {
  FreeDevices site = Site("aab");
  site.SetFree(1, false);
  EXPECT_EQ(site.free().CountIn(SetOf({0, 1, 2})), 2);
  EXPECT_FALSE(site.free().Contains(1));
  site.Remove(0);
  EXPECT_FALSE(site.free().Contains(0));
}

TEST(FreeDevices, KeepsItsCountsUnderSettingAndUnsetting) {
  FreeDevices site = Site("aab");
  site.SetFree(0, false);
  site.SetFree(0, false);
  EXPECT_EQ(site.pools()[0].free, 2);
  EXPECT_EQ(Choose(site, 2), (std::vector<DeviceId>{1, 2}));
  site.SetFree(0, true);
  EXPECT_EQ(site.pools()[0].free, 3);
  EXPECT_EQ(Choose(site, 2), (std::vector<DeviceId>{0, 1}));
}

TEST(FreeDevices, SaysWhenSoManyWillBeFree) {
  FreeDevices site = Site("aaab");
  for (const DeviceId busy : {0, 1, 2}) site.SetFree(busy, false);
  site.SetComing(0, 900);
  site.SetComing(1, 600);
  const FreeDevices::Pool& pool = site.pools()[0];
  EXPECT_LT(pool.FreeAt(1), 0) << "now";
  EXPECT_EQ(pool.FreeAt(2), 600);
  EXPECT_EQ(pool.FreeAt(3), 900);
  EXPECT_EQ(pool.FreeAt(4), std::nullopt) << "of device 2 nobody knows";
  EXPECT_EQ(pool.FreeBy(599, 9), 1);
  EXPECT_EQ(pool.FreeBy(600, 9), 2);
  EXPECT_EQ(pool.FreeBy(900, 2), 2);
  site.SetFree(1, true);
  EXPECT_EQ(pool.FreeAt(3), 900);
  EXPECT_EQ(pool.FreeBy(600, 9), 2);
  site.Remove(0);
  EXPECT_EQ(pool.FreeAt(3), std::nullopt) << "it left";
}

TEST(FreeDevices, SeparatesModels) {
  FreeDevices site = Site("aa");
  site.Register({job::DeviceKind::kCuda, "a", "A100", 80, "8.0"}, 2);
  ASSERT_EQ(site.pools().size(), 2u);
  EXPECT_EQ(site.pools()[1].total, 1);
  EXPECT_EQ(site.pools()[1].free, 0);
}

TEST(FreeDevices, ADeviceDescribedAnewMovesToItsNewClassAndIsNotFree) {
  FreeDevices site = Site("aa");
  site.Describe(0, {job::DeviceKind::kCuda, "a", "A100", 80, "8.0"}, 0);
  EXPECT_EQ(site.pools()[0].total, 1);
  EXPECT_EQ(site.pools()[0].free, 1);
  EXPECT_EQ(site.pools()[1].total, 1);
  EXPECT_EQ(site.pools()[1].free, 0);
}

TEST(Prefer, AGpuBeforeACpuSlotThenTheSmaller) {
  const DeviceClass cpu{job::DeviceKind::kCpu, "slot", 10, ""},
      small{job::DeviceKind::kCuda, "A10", 24, "8.6"},
      large{job::DeviceKind::kCuda, "H200", 141, "9.0"};
  EXPECT_TRUE(Prefer(small, cpu));
  EXPECT_TRUE(Prefer(small, large));
  EXPECT_FALSE(Prefer(large, small));
  EXPECT_FALSE(Prefer(cpu, large));
}

}  // namespace
}  // namespace trainctl::placement
