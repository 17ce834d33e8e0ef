#include <gmock/gmock.h>

#include "client/exit_code.h"
#include "tests/client/client_test.h"

namespace trainctl::client {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class RmTest : public ClientTest {
 protected:
  RmTest() {
    coordinator_.jobs = {FinishedJob("j1", "old", "FAILED"), FinishedJob("j2", "done", "SUCCEEDED"),
                         RunningJob("j3", "runs")};
    for (v1::JobView& job : coordinator_.jobs) job.set_ended_at(900'000'000);
  }

  std::vector<std::string> Removed() const {
    std::vector<std::string> ids;
    for (const v1::RemoveRequest& request : coordinator_.removals)
      ids.insert(ids.end(), request.jobs().begin(), request.jobs().end());
    return ids;
  }
};

TEST_F(RmTest, ARuleTakesOnlyWhatHasEndedAndPassesIt) {
  EXPECT_EQ(Trainctl({"rm", "--state", "failed", "--yes"}).out, "Removed 1 job.\n");
  EXPECT_THAT(Removed(), ElementsAre("j1"));
  EXPECT_EQ(Trainctl({"rm", "--older-than", "0s", "--yes"}).code, kExitOk);
  EXPECT_THAT(Removed(), ElementsAre("j1", "j2"));
  EXPECT_EQ(coordinator_.jobs.size(), 1u);
}

TEST_F(RmTest, WhatIsNotOldEnoughStays) {
  const std::string years = std::to_string(INT64_MAX / 2);
  EXPECT_EQ(Trainctl({"rm", "--older-than", years, "--yes"}).out, "Removed 0 jobs.\n");
  EXPECT_TRUE(coordinator_.removals.empty());
}

TEST_F(RmTest, NothingIsRemovedWithoutYesOrARule) {
  const Ended unsure = Trainctl({"rm", "j1", "j2"});
  EXPECT_EQ(unsure.code, kExitUsage);
  EXPECT_THAT(unsure.err, HasSubstr("2 jobs would be removed"));
  EXPECT_THAT(Trainctl({"rm", "--yes"}).err, HasSubstr("which jobs?"));
  const Ended listed = Trainctl({"rm", "--state", "failed", "--dry-run"});
  EXPECT_EQ(listed.code, kExitOk);
  EXPECT_THAT(listed.out, HasSubstr("j1"));
  EXPECT_THAT(listed.out, HasSubstr("1 job would be removed, and nothing was"));
  EXPECT_EQ(Trainctl({"rm", "nobody", "--yes"}).code, kExitNotFound);
  EXPECT_TRUE(coordinator_.removals.empty());
}

TEST_F(RmTest, AFewAreRemovedAtATimeAndWhatWasIsToldBesideTheError) {
  coordinator_.jobs.clear();
  for (int i = 1; i <= 25; ++i)
    coordinator_.jobs.push_back(FinishedJob("j" + std::to_string(i), "one", "FAILED"));
  coordinator_.jobs.push_back(RunningJob("j26", "lab"));
  for (v1::JobView& job : coordinator_.jobs) job.set_group("g1");
  const Ended refused = Trainctl({"rm", "g1", "--yes"});
  EXPECT_EQ(refused.code, kExitFailure);
  EXPECT_EQ(refused.out, "Removed 20 jobs.\n");
  EXPECT_THAT(refused.err, HasSubstr("j26 has not ended"));
  EXPECT_EQ(coordinator_.removals.size(), 2u);
}

}  // namespace
}  // namespace trainctl::client
