#include "common/job/linked_gang.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>

#include "tests/job/valid_job.h"

namespace trainctl::job {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Pairs = std::set<std::pair<size_t, size_t>>;

AreLinked Among(const Pairs& pairs) {
  return [&pairs](size_t i, size_t j) { return pairs.contains(std::minmax(i, j)); };
}

// GPUs of one host; those of one group are linked by NVLink, others between sockets.
void AddHost(const std::string& host, const std::vector<size_t>& groups,
             std::vector<SiteDevice>* site) {
  const auto uuid = [&](size_t gpu) { return "GPU-" + host + std::to_string(gpu); };
  size_t first = 0;
  for (size_t group : groups) {
    for (size_t gpu = first; gpu < first + group; ++gpu) {
      SiteDevice device{DeviceKind::kCuda, host, "NVIDIA H200", int64_t{140} << 30, "9.0"};
      device.uuid = uuid(gpu);
      for (size_t other = 0; other < 8; ++other) {
        const bool is_near = other >= first && other < first + group;
        if (other != gpu)
          device.links[uuid(other)] = is_near ? LinkKind::kNvlink : LinkKind::kBetweenSockets;
      }
      site->push_back(device);
    }
    first += group;
  }
}

std::vector<SiteDevice> SiteWith(const std::vector<std::vector<size_t>>& hosts) {
  std::vector<SiteDevice> site;
  for (size_t i = 0; i < hosts.size(); ++i) AddHost("node" + std::to_string(i), hosts[i], &site);
  return site;
}

JobSpec Asking(int64_t devices, const char* links) {
  JobSpec job = SmallestJob();
  job.devices = devices;
  job.resources.constraints["gpu.links"] = links;
  return job;
}

TEST(FindLinked, FindsTheFirstGroupOfWhichEachTwoAreLinked) {
  const Pairs pairs = {{0, 1}, {0, 2}, {1, 3}, {2, 3}, {2, 4}, {3, 4}};
  EXPECT_THAT(FindLinked(5, 2, Among(pairs)), ElementsAre(0, 1));
  EXPECT_THAT(FindLinked(5, 3, Among(pairs)), ElementsAre(2, 3, 4));
  EXPECT_THAT(FindLinked(5, 4, Among(pairs)), IsEmpty());
  EXPECT_EQ(MostLinked(5, 9, Among(pairs)), 3u);
  EXPECT_EQ(MostLinked(5, 2, Among(pairs)), 2u);
  EXPECT_EQ(MostLinked(0, 2, Among(pairs)), 0u);
  EXPECT_THAT(AllLinked(5, 3, Among(pairs)), ElementsAre(2, 3, 4));
  EXPECT_THAT(AllLinked(5, 2, Among(pairs)), ElementsAre(0, 1, 2, 3, 4));
}

// Links that no host has: each device is linked to all but those of its own third.
TEST(FindLinked, AnswersSoonWhateverIsTold) {
  const AreLinked thirds = [](size_t i, size_t j) { return i / 3 != j / 3; };
  EXPECT_THAT(FindLinked(kMaxLinks, kMaxLinks / 3 + 2, thirds), IsEmpty());
}

TEST(LinkBetween, IsTheFartherOfWhatBothTell) {
  using enum LinkKind;
  const Links near = {{"b", kNvlink}}, far = {{"a", kNumaNode}}, none;
  EXPECT_EQ(LinkBetween("a", near, "b", far), kNumaNode);
  EXPECT_EQ(LinkBetween("b", far, "a", near), kNumaNode);
  EXPECT_EQ(LinkBetween("a", near, "b", none), kNvlink);
  EXPECT_EQ(LinkBetween("b", none, "a", near), kNvlink);
  EXPECT_EQ(LinkBetween("a", none, "b", none), kUnknown);
}

TEST(Links, AreTheSameAfterTheirText) {
  const Links links = {{"GPU-1", LinkKind::kNvlink}, {"GPU-2", LinkKind::kBetweenSockets}};
  EXPECT_EQ(LinksText(links), "GPU-1 NVLink\nGPU-2 between sockets");
  EXPECT_EQ(ParseLinks(LinksText(links)), links);
  EXPECT_EQ(ParseLinks(""), Links());
  EXPECT_EQ(ParseLinks("GPU-1 what comes some day"), (Links{{"GPU-1", LinkKind::kUnknown}}));
  EXPECT_EQ(ParseLinks("GPU-1"), std::nullopt);
  EXPECT_EQ(ParseLinks(" NVLink"), std::nullopt);
}

TEST(CheckSite, AGangWhoseLinksNoHostHasIsRefusedWithWhatThereIs) {
  const std::vector<SiteDevice> site = SiteWith({{4}, {2, 2}});
  EXPECT_THAT(CheckSite(Asking(4, "=NVLink"), site), IsEmpty());
  EXPECT_THAT(CheckSite(Asking(1, "=NVLink"), site), IsEmpty()) << "one device has no links";
  const auto problems = CheckSite(Asking(5, "=NVLink"), site);
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].path, "resources.constraints.gpu.links");
  EXPECT_EQ(problems[0].value, "=NVLink");
  EXPECT_THAT(problems[0].expected, HasSubstr("at most 4 of this site have such links"));
  EXPECT_THAT(CheckSite(Asking(2, "=PIX"), site).at(0).expected,
              HasSubstr("at most 0 of this site"));
}

TEST(CheckSite, TheOtherConstraintsHoldOfTheSameGang) {
  const std::vector<SiteDevice> site = SiteWith({{4}, {2, 2}});
  JobSpec job = Asking(4, "=NVLink");
  job.resources.constraints["host"] = "=node1";
  EXPECT_THAT(CheckSite(job, site).at(0).expected, HasSubstr("at most 2"));
  job.devices = 2;
  EXPECT_THAT(CheckSite(job, site), IsEmpty());
}

TEST(CheckSite, WhereNoWorkerTellsOfLinksNoneCanBeAskedFor) {
  std::vector<SiteDevice> site = SiteWith({{4}});
  for (SiteDevice& device : site) device.links.clear();
  EXPECT_THAT(CheckSite(Asking(2, ">=SYS"), site).at(0).expected, HasSubstr("tell of no links"));
}

TEST(FirstGang, IsOfOneHostWhereLinksAreAskedFor) {
  const std::vector<SiteDevice> site = SiteWith({{1}, {1, 2}});
  EXPECT_THAT(PossibleDevices(Asking(2, "=NVLink"), site), ElementsAre(2, 3));
  EXPECT_THAT(FirstGang(Asking(2, "=NVLink"), site), ElementsAre(2, 3));
  EXPECT_THAT(FirstGang(Asking(3, "=NVLink"), site), IsEmpty());
  JobSpec plain = Asking(2, "=NVLink");
  plain.resources.constraints.clear();
  EXPECT_THAT(FirstGang(plain, site), ElementsAre(0, 1));
  plain.devices = 5;
  EXPECT_THAT(FirstGang(plain, site), IsEmpty());
}

}  // namespace
}  // namespace trainctl::job
