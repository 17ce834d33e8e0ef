// What a job holds while it runs.
#include "common/job/held_devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace trainctl::job {
namespace {

using testing::ElementsAre;

void AddHost(const std::string& host, const std::string& model, int64_t devices,
             std::vector<SiteDevice>* site) {
  for (int64_t i = 0; i < devices; ++i)
    site->push_back({.kind = DeviceKind::kCuda,
                     .host = host,
                     .name = model,
                     .memory_bytes = 80,
                     .compute_capability = "9.0"});
}

JobSpec Exclusive(int64_t devices) {
  JobSpec job;
  job.devices = devices;
  job.exclusive = true;
  return job;
}

TEST(HeldDevices, AJobHoldsAsManyAsItHasRanks) {
  std::vector<SiteDevice> site;
  AddHost("a", "H100", 4, &site);
  JobSpec job = Exclusive(2);
  job.exclusive = false;
  EXPECT_EQ(LeastHeldDevices(job, site, site), 2);
}

TEST(HeldDevices, AnExclusiveJobHoldsAllOfItsHosts) {
  std::vector<SiteDevice> site;
  AddHost("a", "H100", 4, &site);
  AddHost("b", "H100", 4, &site);
  EXPECT_EQ(LeastHeldDevices(Exclusive(1), site, site), 4);
  EXPECT_EQ(LeastHeldDevices(Exclusive(5), site, site), 8);
  EXPECT_EQ(LeastHeldDevices(Exclusive(9), site, site), 9) << "the site has too few: as it asks";
}

TEST(HeldDevices, OfHostsThatWouldDoThoseCountThatHaveTheFewest) {
  std::vector<SiteDevice> site;
  AddHost("a", "H100", 8, &site);
  AddHost("b", "H100", 2, &site);
  AddHost("c", "H100", 3, &site);
  EXPECT_EQ(LeastHeldDevices(Exclusive(1), site, site), 2);
  EXPECT_EQ(LeastHeldDevices(Exclusive(4), site, site), 5);
  JobSpec there = Exclusive(1);
  there.resources.constraints["host"] = "=a";
  EXPECT_EQ(LeastHeldDevices(there, site, site), 8);
}

// Devices of other models on the host, and those that rules keep the job from, are held too.
TEST(HeldDevices, WhatAnExclusiveJobCannotUseOnItsHostItHoldsToo) {
  std::vector<SiteDevice> site;
  AddHost("a", "H100", 1, &site);
  const std::vector<SiteDevice> reached = site;
  AddHost("a", "A100", 3, &site);
  EXPECT_EQ(LeastHeldDevices(Exclusive(1), reached, site), 4);
}

TEST(HeldDevices, TheFewestAreThoseThatTryingAllFinds) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    std::vector<WholeHost> hosts(1 + random() % 8);
    for (WholeHost& host : hosts) {
      host.usable = random() % 4;
      host.all = host.usable + random() % 5;
    }
    const int64_t ranks = 1 + random() % 10;
    std::optional<int64_t> fewest;
    for (size_t set = 0; set < size_t{1} << hosts.size(); ++set) {
      int64_t usable = 0, all = 0;
      for (size_t host = 0; host < hosts.size(); ++host) {
        if ((set >> host & 1) == 0) continue;
        usable += hosts[host].usable;
        all += hosts[host].all;
      }
      if (usable >= ranks) fewest = std::min(fewest.value_or(all), all);
    }
    const std::optional<WholeHosts> found = FewestDevices(hosts, ranks);
    ASSERT_EQ(found.has_value(), fewest.has_value());
    if (!found) continue;
    ASSERT_EQ(found->devices, *fewest);
    int64_t usable = 0, all = 0;
    for (const size_t host : found->hosts) {
      usable += hosts[host].usable;
      all += hosts[host].all;
    }
    ASSERT_GE(usable, ranks);
    ASSERT_EQ(all, *fewest);
  }
}

TEST(HeldDevices, OfEqualOnesAsFewHostsAsPossible) {
  EXPECT_THAT(FewestDevices({{1, 1}, {1, 1}, {2, 2}}, 2)->hosts, ElementsAre(2));
}

}  // namespace
}  // namespace trainctl::job
