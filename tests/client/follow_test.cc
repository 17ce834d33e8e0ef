#include "client/submit/follow.h"
#include "client/exit_code.h"
#include "client/show/output.h"
#include "tests/client/client_test.h"

namespace trainctl::client {
namespace {

class FollowTest : public ClientTest {
 protected:
  // `trainctl wait` for jobs that ended so.
  int ExitCodeFor(const std::vector<v1::JobView>& ended) {
    coordinator_.jobs = ended;
    std::vector<std::string> words = {"wait"};
    for (const v1::JobView& job : ended) words.push_back(job.id());
    return Trainctl(words).code;
  }

  static v1::JobView Expected(v1::JobView job, bool met) {
    job.set_as_expected(met);
    return job;
  }
};

TEST_F(FollowTest, TheExitCodeSaysHowAJobEnded) {
  const std::vector<std::pair<std::string, int>> codes = {
      {"SUCCEEDED", 0},      {"FAILED", 10},      {"OOM_GPU", 11},   {"OOM_HOST", 11},
      {"HANG", 10},          {"NCCL_ERROR", 10},  {"GPU_FAULT", 10}, {"NODE_LOST", 10},
      {"TIMEOUT", 14},       {"LEASE_ENDED", 10}, {"PREEMPTED", 10}, {"CANCELLED", 12},
      {"LAUNCH_FAILED", 10}, {"DIVERGED", 13}};
  for (const auto& [outcome, code] : codes)
    EXPECT_EQ(ExitCodeFor({FinishedJob("j1", "a", outcome)}), code) << outcome;
}

TEST_F(FollowTest, AnExpectationThatWasMetIsZeroWhateverTheOutcome) {
  EXPECT_EQ(ExitCodeFor({Expected(FinishedJob("j1", "a", "OOM_GPU"), true)}), 0);
  EXPECT_EQ(ExitCodeFor({Expected(FinishedJob("j1", "a", "SUCCEEDED"), true)}), 0);
}

TEST_F(FollowTest, AnExpectationThatWasNotMetIsAFailure) {
  EXPECT_EQ(ExitCodeFor({Expected(FinishedJob("j1", "a", "SUCCEEDED"), false)}), 10);
  EXPECT_EQ(ExitCodeFor({Expected(FinishedJob("j1", "a", "OOM_GPU"), false)}), 11);
}

TEST_F(FollowTest, OfSeveralJobsTheWorstCounts) {
  const v1::JobView good = FinishedJob("j1", "a", "SUCCEEDED"),
                    oom = FinishedJob("j2", "b", "OOM_GPU");
  const v1::JobView cancelled = FinishedJob("j3", "c", "CANCELLED"),
                    failed = FinishedJob("j4", "d", "FAILED");
  EXPECT_EQ(ExitCodeFor({good, cancelled}), 12);
  EXPECT_EQ(ExitCodeFor({good, cancelled, oom}), 11);
  EXPECT_EQ(ExitCodeFor({good, cancelled, oom, failed}), 10);
}

TEST_F(FollowTest, WaitTellsPhasesStepsAndTheEnd) {
  v1::JobView starting = RunningJob("j1", "tiny");
  starting.set_state("STARTING");
  starting.set_reason("loading 1.20 of 13.50 GiB");
  coordinator_.jobs = {starting};
  coordinator_.watchings = {
      {{starting, RunningJob("j1", "tiny"), FinishedJob("j1", "tiny", "SUCCEEDED")}}};
  const Ended ended = Trainctl({"wait", "tiny"});
  EXPECT_EQ(ended.code, 0);
  EXPECT_EQ(
      ended.out,
      "tiny (j1): starting: loading 1.20 of 13.50 GiB\n"
      "tiny (j1): step 31/62  loss 2.346  12,346 tokens/s  peak 9.00 GiB  0:50, 0:49 left\n"
      "tiny (j1): SUCCEEDED after 0:50, step 62/62  loss 2.346  12,346 tokens/s  peak 9.00 GiB\n");
}

TEST_F(FollowTest, CtrlCSaysHowToFollowAgain) {
  coordinator_.jobs = {FinishedJob("j1", "a", "SUCCEEDED"), FinishedJob("j2", "b", "SUCCEEDED")};
  Trainctl({"wait", "a", "j2"});
  EXPECT_EQ(farewell_, "Detached: the jobs go on. Follow again with: trainctl wait a j2");
}

TEST_F(FollowTest, ALostCoordinatorIsAskedAgainUntilItAnswers) {
  coordinator_.watchings = {{{RunningJob("j1", "tiny")}, /*breaks=*/true},
                            {{}, true},
                            {{FinishedJob("j1", "tiny", "SUCCEEDED")}}};
  const Ended ended = Trainctl({"wait", "j1"});
  EXPECT_EQ(ended.code, 0);
  EXPECT_NE(ended.out.find("The coordinator does not answer; the jobs go on without it."),
            std::string::npos);
  EXPECT_NE(ended.out.find("The coordinator answers again."), std::string::npos);
  EXPECT_EQ(coordinator_.watch_requests.size(), 3u);
}

TEST_F(FollowTest, ACoordinatorThatStaysAwayEndsWaitingAfterTenMinutes) {
  coordinator_.watchings = {{{RunningJob("j1", "tiny")}, /*breaks=*/true}};
  on_sleep_ = [this] { coordinator_.unreachable = true; };
  const int64_t before = clock_.Steady();
  EXPECT_EQ(Trainctl({"wait", "j1"}).code, kExitUnreachable);
  EXPECT_GT(clock_.Steady() - before, 600'000'000);
}

TEST_F(FollowTest, ACoordinatorThatNeverAnsweredIsNotWaitedFor) {
  coordinator_.unreachable = true;
  const int64_t before = clock_.Steady();
  EXPECT_EQ(Trainctl({"wait", "j1"}).code, kExitUnreachable);
  EXPECT_EQ(clock_.Steady(), before);
}

TEST_F(FollowTest, TheTimeoutEndsWaitingAndNotTheJob) {
  coordinator_.jobs = {RunningJob("j1", "tiny")};
  const Ended ended = Trainctl({"wait", "j1", "--timeout", "10s"});
  EXPECT_EQ(ended.code, kExitTimeout);
  EXPECT_NE(ended.err.find("the jobs go on; follow again with: trainctl wait j1"),
            std::string::npos);
  EXPECT_TRUE(coordinator_.cancelled.empty());
}

TEST_F(FollowTest, WithoutATimeToWaitTheEndIsSeenAllTheSame) {
  coordinator_.jobs = {FinishedJob("j1", "tiny", "SUCCEEDED"), RunningJob("j2", "more")};
  EXPECT_EQ(Trainctl({"wait", "j1", "--timeout", "0"}).code, kExitOk);
  EXPECT_EQ(Trainctl({"wait", "j1", "j2", "--timeout", "0"}).code, kExitTimeout);
  EXPECT_EQ(Trainctl({"wait", "j9", "--timeout", "0"}).code, kExitNotFound);
}

TEST_F(FollowTest, AnUnknownJobIsNotFound) {
  EXPECT_EQ(Trainctl({"wait", "j9"}).code, kExitNotFound);
}

TEST_F(FollowTest, ForScriptsProgressGoesToStderrAndTheJobsToStdout) {
  coordinator_.jobs = {FinishedJob("j1", "tiny", "OOM_GPU")};
  const Ended ended = Trainctl({"wait", "j1", "-o", "json"});
  EXPECT_EQ(ended.code, kExitOutOfMemory);
  EXPECT_EQ(Json::parse(ended.out)["jobs"][0]["outcome"], "OOM_GPU");
  EXPECT_NE(ended.err.find("tiny (j1): OOM_GPU"), std::string::npos);
}

}  // namespace
}  // namespace trainctl::client
