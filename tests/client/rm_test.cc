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
  coordinator_.jobs.push_back(RunningJob("j1", "lab"));
  for (int i = 2; i <= 26; ++i)
    coordinator_.jobs.push_back(FinishedJob("j" + std::to_string(i), "one", "FAILED"));
  for (v1::JobView& job : coordinator_.jobs) job.set_group("g1");
  const Ended refused = Trainctl({"rm", "g1", "--yes"});
  EXPECT_EQ(refused.code, kExitFailure);
  EXPECT_EQ(refused.out, "Removed 20 jobs.\n");
  EXPECT_THAT(refused.err, HasSubstr("j1 has not ended"));
  EXPECT_EQ(coordinator_.removals.size(), 2u);
}

v1::HostOutputs Outputs(const std::string& host, int64_t files, int64_t bytes) {
  v1::HostOutputs outputs;
  outputs.set_host(host);
  outputs.set_files(files);
  outputs.set_bytes(bytes);
  return outputs;
}

class RmOutputsTest : public RmTest {
 protected:
  RmOutputsTest() {
    coordinator_.outputs["j1"] = {Outputs("alpha", 3, 3 << 20), Outputs("beta", 0, 0)};
    v1::LeftPath& left = *coordinator_.outputs["j1"][0].add_left();
    left.set_path("/out");
    left.set_why("stays, with notes.txt");
    coordinator_.outputs["j2"] = {Outputs("alpha", 2, 1 << 20)};
    coordinator_.jobs[0].set_output_dir("/out");
  }
};

TEST_F(RmOutputsTest, FilesAreRemovedWithTheirJobsAndWhatStaysIsNamed) {
  const Ended ended = Trainctl({"rm", "--older-than", "0s", "--outputs", "--yes"});
  EXPECT_EQ(ended.code, kExitOk) << ended.err;
  EXPECT_EQ(ended.out,
            "alpha: /out: stays, with notes.txt\n"
            "Removed 2 jobs with 5 files (4.00 MiB).\n");
  EXPECT_EQ(coordinator_.jobs.size(), 1u);
  EXPECT_TRUE(coordinator_.removals.empty());
}

TEST_F(RmOutputsTest, ADryRunListsFilesAndRemovesNothing) {
  const Ended listed = Trainctl({"rm", "j1", "--outputs", "--dry-run"});
  EXPECT_EQ(listed.code, kExitOk) << listed.err;
  EXPECT_THAT(listed.out, HasSubstr("3.00 MiB"));
  EXPECT_THAT(listed.out, HasSubstr("1 job with 3 files (3.00 MiB) would be removed, and nothing"));
  ASSERT_EQ(coordinator_.output_removals.size(), 1u);
  EXPECT_TRUE(coordinator_.output_removals[0].look_only());
  const Json record =
      Json::parse(Trainctl({"rm", "j1", "--outputs", "--dry-run", "-o", "json"}).out)["jobs"].at(0);
  EXPECT_EQ(record["files"], 3);
  EXPECT_EQ(record["hosts"][0]["left"][0]["path"], "/out");
  EXPECT_EQ(coordinator_.jobs.size(), 3u);
}

TEST_F(RmOutputsTest, AJobThatIsKeptHoldsUpNoOther) {
  coordinator_.kept_outputs["j1"] = {base::Code::kConflict, "j1: on host beta: nobody answers"};
  const Ended ended = Trainctl({"rm", "--older-than", "0s", "--outputs", "--yes"});
  EXPECT_EQ(ended.code, kExitFailure);
  EXPECT_EQ(ended.out, "Removed 1 job with 2 files (1.00 MiB).\n");
  EXPECT_EQ(ended.err, "trainctl: j1: on host beta: nobody answers\n");
  coordinator_.kept_outputs["j1"] = {base::Code::kUnavailable, "the coordinator is away"};
  EXPECT_EQ(Trainctl({"rm", "j1", "--outputs", "--yes"}).code, kExitUnreachable);
}

TEST_F(RmOutputsTest, WithoutYesItIsSaidThatFilesWouldGo) {
  EXPECT_THAT(Trainctl({"rm", "j1", "--outputs"}).err,
              HasSubstr("and the files that they have saved"));
  EXPECT_TRUE(coordinator_.output_removals.empty());
}

}  // namespace
}  // namespace trainctl::client
