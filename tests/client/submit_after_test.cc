#include "client/exit_code.h"
#include "tests/client/submit_fixture.h"

namespace trainctl::client {
namespace {

using Jobs = std::map<std::string, job::After>;

v1::JobView OfGroup(v1::JobView job, const std::string& group, const std::string& name) {
  job.set_group(group);
  job.set_group_name(name);
  return job;
}

TEST_F(SubmitTest, AfterNamesJobsByIdOrNameAndAGroupByAllItsJobs) {
  coordinator_.jobs = {RunningJob("j3", "first"), RunningJob("j5", "tiny"),
                       OfGroup(RunningJob("j6", "a"), "g2", "lab"),
                       OfGroup(RunningJob("j7", "b"), "g2", "lab")};
  const Ended ended =
      Trainctl({"submit", File("tiny.json", kJob), "--name", "next", "--after", "j3,tiny:any,lab"});
  EXPECT_EQ(ended.code, kExitOk) << ended.err;
  EXPECT_EQ(SubmittedJob().resources.after, (Jobs{{"j3", job::After::kOk},
                                                  {"j5", job::After::kAny},
                                                  {"j6", job::After::kOk},
                                                  {"j7", job::After::kOk}}));
}

TEST_F(SubmitTest, AfterAJobThatIsNotThereIsRefused) {
  const Ended ended = Trainctl({"submit", File("tiny.json", kJob), "--after", "nobody"});
  EXPECT_EQ(ended.code, kExitNotFound);
  EXPECT_NE(ended.err.find("nobody"), std::string::npos) << ended.err;
  EXPECT_TRUE(coordinator_.submissions.empty());
}

TEST_F(SubmitTest, ADryRunRefusesToWaitForWhatSubmitWould) {
  coordinator_.jobs = {FinishedJob("j3", "first", "CANCELLED")};
  const std::string file = File("tiny.json", kJob);
  const Ended unknown = Trainctl({"submit", file, "--after", "j99", "--dry-run"});
  EXPECT_EQ(unknown.code, kExitUsage);
  EXPECT_NE(unknown.err.find("resources.after: \"j99\": expected a job of this site"),
            std::string::npos)
      << unknown.err;
  const Ended never = Trainctl({"submit", file, "--after", "j3", "--dry-run"});
  EXPECT_EQ(never.code, kExitUsage);
  EXPECT_NE(never.err.find("it ended as CANCELLED"), std::string::npos) << never.err;
  EXPECT_EQ(Trainctl({"submit", file, "--after", "j3:any", "--dry-run"}).code, kExitOk);
}

TEST_F(SubmitTest, WhatAnEarlierJobHasYetToWriteNeedNotBeThere) {
  coordinator_.jobs = {RunningJob("j3", "first")};
  coordinator_.inspection = base::Error{base::Code::kInvalid, "out/final: no such folder"};
  EXPECT_EQ(Trainctl({"submit", File("tiny.json", kJob)}).code, kExitUsage);
  const Ended ended = Trainctl({"submit", File("tiny.json", kJob), "--after", "j3"});
  EXPECT_EQ(ended.code, kExitOk) << ended.err;
  EXPECT_NE(ended.err.find("out/final: no such folder"), std::string::npos) << ended.err;
}

}  // namespace
}  // namespace trainctl::client
