// The memory by kind of each job that runs: its column, and how it is read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/show/escaping.h"
#include "client/show/format.h"
#include "client/top/memory_turns.h"
#include "client/top/picture.h"
#include "tests/client/client_test.h"

namespace trainctl::client {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

constexpr int64_t kOneGib = int64_t{1} << 30;

HeldMemory ThreeKinds() {
  HeldMemory memory{.whole = 60 * kOneGib, .predicted_peak = 80 * kOneGib, .limit = 100 * kOneGib};
  memory.kinds = {.params = 20 * kOneGib, .grads = 20 * kOneGib, .optimizer = 20 * kOneGib};
  return memory;
}

SiteView MeasuredSite(const std::string& owner) {
  SiteView site;
  site.running = {RunningJob("j2", "tiny")};
  site.running[0].set_owner(owner);
  site.memory["j2"] = ThreeKinds();
  return site;
}

std::string Drawn(const SiteView& site, const Paper& paper) {
  TopState state;
  return Join(SitePicture(site, paper, &state), "\n");
}

TEST(TopMemory, IsAStackedBarInTheListOfJobs) {
  EXPECT_THAT(Drawn(MeasuredSite("anna"), {.columns = 120}),
              AllOf(HasSubstr("  MEMORY  "), HasSubstr(" [██▓▓▒▒ |  ] ")));
  EXPECT_THAT(Drawn(MeasuredSite("anna"), {.columns = 120, .unicode = false}),
              HasSubstr(" [PPGGOO.|..] "));
  EXPECT_THAT(Drawn(MeasuredSite("anna"), {.columns = 120, .colour = true}),
              AllOf(HasSubstr("MEMORY"), HasSubstr("[██▓▓▒▒ |  ]")));
}

TEST(TopMemory, StandsOn80ColumnsWithTheNumbersThatPeopleHave) {
  SiteView site = MeasuredSite("annalena");
  v1::JobView& job = site.running[0];
  job.set_id("j1234");
  job.set_name("tinyllama-lora-64");
  site.memory["j1234"] = ThreeKinds();
  EXPECT_THAT(Drawn(site, {.columns = 80}), AllOf(HasSubstr(" [██▓▒▒|  ] "), HasSubstr("OWNER"),
                                                  HasSubstr("TIME"), Not(HasSubstr("PEAK"))));
  job.set_step(1'234);
  job.set_steps(12'345);
  EXPECT_THAT(Drawn(site, {.columns = 80}),
              AllOf(HasSubstr(" [██▓▒▒|  ] "), HasSubstr("1,234/12,345"), HasSubstr("LEFT"),
                    Not(HasSubstr("TIME"))));
}

TEST(TopMemory, GivesWayToTheWidthAfterMostOthers) {
  EXPECT_THAT(Drawn(MeasuredSite("anna"), {.columns = 90}),
              AllOf(HasSubstr("MEMORY"), HasSubstr("OWNER"), HasSubstr("PEAK"),
                    Not(HasSubstr("DONE")), Not(HasSubstr("WHERE"))));
  EXPECT_THAT(Drawn(MeasuredSite("anna"), {.columns = 50}), Not(HasSubstr("MEMORY")));
  for (const int columns : {79, 80, 88, 100, 132}) {
    for (const std::string& row : Split(Drawn(MeasuredSite("anna"), {.columns = columns}), '\n'))
      EXPECT_LE(DisplayWidth(row), columns) << row;
  }
}

TEST(TopMemory, HasNoColumnBeforeAnythingIsMeasured) {
  SiteView site = MeasuredSite("anna");
  site.memory.clear();
  EXPECT_THAT(Drawn(site, {.columns = 160}), Not(HasSubstr("MEMORY  ")));
}

class TopMemoryTest : public ClientTest {
 protected:
  // So many jobs run, and each has measured its parameters.
  void Run(int jobs) {
    for (int i = 1; i <= jobs; ++i) {
      const std::string id = "j" + std::to_string(i);
      coordinator_.jobs.push_back(RunningJob(id, "tiny"));
      v1::MetricSummary& summary = *coordinator_.details[id].add_summaries();
      summary.set_name("memory_params_bytes");
      summary.set_phase("after_backward");
      summary.set_rank(0);
      summary.set_max(static_cast<double>(kOneGib));
      summary.set_count(1);
    }
  }
};

TEST_F(TopMemoryTest, IsReadOfAFewJobsAFrameInTurn) {
  Run(7);
  FakeApi api(&coordinator_);
  MemoryTurns turns;
  SiteView site;
  site.running.assign(coordinator_.jobs.begin(), coordinator_.jobs.end());
  for (const size_t known : {3u, 6u, 7u, 7u}) {
    turns.Read(api, 3, &site);
    EXPECT_THAT(site.memory, SizeIs(known));
  }
  site.running.erase(site.running.begin());
  site.memory.clear();
  turns.Read(api, 0, &site);
  EXPECT_THAT(site.memory, SizeIs(6)) << "a job that has ended is forgotten";
}

TEST_F(TopMemoryTest, APictureThatIsPrintedOnceHasIt) {
  Run(2);
  SetTerminal(160);
  EXPECT_THAT(Trainctl({"top", "-1"}).out, HasSubstr("[██████████]"));
  coordinator_.details.clear();
  EXPECT_THAT(Trainctl({"top", "-1"}).out, Not(HasSubstr("[██")));
}

}  // namespace
}  // namespace trainctl::client
