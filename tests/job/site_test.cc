#include "common/job/site.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/job/valid_job.h"

namespace trainctl::job {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

std::vector<SiteDevice> Site(int gpus, int slots) {
  std::vector<SiteDevice> devices;
  for (int i = 0; i < gpus; ++i)
    devices.push_back({DeviceKind::kCuda, "node1", "NVIDIA H200", int64_t{140} << 30, "9.0"});
  for (int i = 0; i < slots; ++i)
    devices.push_back({DeviceKind::kCpu, "node1", "CPU slot", int64_t{64} << 30, ""});
  return devices;
}

JobSpec On(int64_t devices, std::map<std::string, std::string> constraints = {}) {
  JobSpec job = SmallestJob();
  job.devices = devices;
  job.resources.constraints = std::move(constraints);
  return job;
}

TEST(DeviceNameOf, AnExclusiveJobsSlotHasThePartOfItsHostsThreadsThatFallsToARank) {
  std::vector<SiteDevice> site;
  for (const char* host : {"a", "a", "a", "b"})
    site.push_back({DeviceKind::kCpu, host, "CPU slot (2 threads)", 0, "", 2});
  site.push_back({DeviceKind::kCuda, "a", "NVIDIA H200", 0, "9.0", 16});
  JobSpec job = On(1);
  EXPECT_EQ(DeviceNameOf(job, site[0], site), "CPU slot (2 threads)");
  job.exclusive = true;
  EXPECT_EQ(DeviceNameOf(job, site[0], site), "CPU slot (6 threads)");
  EXPECT_EQ(DeviceNameOf(job, site[3], site), "CPU slot (2 threads)");
  EXPECT_EQ(DeviceNameOf(job, site[4], site), "NVIDIA H200");
  job.devices = 2;
  EXPECT_EQ(DeviceNameOf(job, site[0], site), "CPU slot (3 threads)");
  job.devices = 4;  // three of them on this host
  EXPECT_EQ(DeviceNameOf(job, site[0], site), "CPU slot (2 threads)");
}

TEST(CheckSite, AModelThatIsNotThereIsToldWithThoseThatAre) {
  EXPECT_THAT(CheckSite(On(2, {{"gpu.model", "=H100,H200"}}), Site(4, 1)), IsEmpty());
  const auto problems = CheckSite(On(1, {{"gpu.model", "=A100"}}), Site(4, 1));
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].path, "resources.constraints.gpu.model");
  EXPECT_THAT(problems[0].expected, HasSubstr("which are: NVIDIA H200"));
}

TEST(CheckSite, AJobThatTheSiteCanHoldIsFine) {
  EXPECT_THAT(CheckSite(On(4), Site(4, 0)), IsEmpty());
}

TEST(CheckSite, MoreDevicesThanThereAreIsAFault) {
  const auto problems = CheckSite(On(5), Site(4, 0));
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].path, "devices");
  EXPECT_EQ(problems[0].value, "5");
  EXPECT_THAT(problems[0].expected, HasSubstr("at most 4"));
}

TEST(CheckSite, AGangDoesNotMixGpusAndCpuSlots) {
  EXPECT_THAT(CheckSite(On(4), Site(2, 2)).at(0).expected, HasSubstr("at most 2"));
}

TEST(CheckSite, OnlyDevicesThatMeetTheConstraintsCount) {
  std::vector<SiteDevice> devices = Site(4, 0);
  devices[0].memory_bytes = int64_t{40} << 30;
  EXPECT_THAT(CheckSite(On(3, {{"gpu.memory", ">=80GB"}}), devices), IsEmpty());
  EXPECT_THAT(CheckSite(On(4, {{"gpu.memory", ">=80GB"}}), devices).at(0).expected,
              HasSubstr("at most 3"));
}

TEST(CheckSite, AConstraintThatNoDeviceMeetsIsNamed) {
  const auto problems = CheckSite(On(1, {{"gpu.memory", ">=1TB"}}), Site(4, 0));
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].path, "resources.constraints.gpu.memory");
  EXPECT_EQ(problems[0].value, ">=1TB");
}

TEST(CheckSite, AHostThatIsNotThereIsRefusedWithThoseThatAre) {
  std::vector<SiteDevice> site = Site(4, 0);
  site[3].host = "node2";
  EXPECT_THAT(CheckSite(On(3, {{"host", "=node1"}}), site), IsEmpty());
  EXPECT_THAT(CheckSite(On(4, {{"host", "=node1,node2"}}), site), IsEmpty());
  EXPECT_THAT(CheckSite(On(4, {{"host", "=node1"}}), site).at(0).expected,
              HasSubstr("at most 3: this site has no more devices that meet the constraints"));
  const auto problems = CheckSite(On(1, {{"host", "=node3"}}), site);
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].path, "resources.constraints.host");
  EXPECT_EQ(problems[0].expected, "what one of this site's hosts meets: node1, node2");
}

TEST(CheckSite, ALabelThatNoWorkerHasIsRefusedWithThoseThatAre) {
  std::vector<SiteDevice> site = Site(2, 0);
  const auto expected = [&](const char* key, const char* text) {
    const auto problems = CheckSite(On(1, {{key, text}}), site);
    return problems.empty() ? std::string("accepted") : problems[0].expected;
  };
  EXPECT_THAT(expected("label.rack", "=r1"), HasSubstr("workers have none (trainworker --label"));
  site[0].labels = {{"rack", "r1"}};
  site[1].labels = {{"rack", "r2"}, {"zone", "b"}};
  EXPECT_EQ(expected("label.rack", "=r1"), "accepted");
  EXPECT_EQ(expected("label.rack", "!=r1"), "accepted");
  EXPECT_EQ(expected("label.rack", "=r3"),
            "what one of this site's workers meets, whose rack is: r1, r2");
  EXPECT_EQ(expected("label.room", "=1"), "a label of this site's workers, which have: rack, zone");
}

TEST(CheckSite, Bf16NeedsAGpuOfCapability8OrACpuSlot) {
  std::vector<SiteDevice> devices = Site(1, 0);
  devices[0].compute_capability = "7.5";
  JobSpec job = On(1);
  EXPECT_THAT(CheckSite(job, devices), IsEmpty());
  job.precision = Precision::kBf16True;
  EXPECT_EQ(CheckSite(job, devices).at(0).path, "precision");
  EXPECT_THAT(CheckSite(job, Site(1, 0)), IsEmpty());
  EXPECT_THAT(CheckSite(job, Site(0, 1)), IsEmpty());
}

TEST(CheckSite, AnEmptySiteHoldsNothing) {
  EXPECT_THAT(CheckSite(On(1), {}).at(0).expected, HasSubstr("at most 0"));
}

TEST(MeetsConstraints, SaysWhyNot) {
  std::string reason = "old";
  EXPECT_TRUE(MeetsConstraints(On(1), Site(1, 0)[0], &reason));
  EXPECT_EQ(reason, "");
  EXPECT_FALSE(MeetsConstraints(On(1, {{"gpu.memory", ">=1TB"}}), Site(1, 0)[0], &reason));
  EXPECT_EQ(reason, "node1 NVIDIA H200 does not meet gpu.memory >=1TB");
}

}  // namespace
}  // namespace trainctl::job
