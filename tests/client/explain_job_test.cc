// trainctl explain JOB: why it waits, runs or ended.
#include "client/exit_code.h"
#include "client/show/output.h"
#include "common/estimate/memory_estimate.h"
#include "common/job/job_json.h"
#include "common/rank/rank_json.h"
#include "tests/client/client_test.h"
#include "tests/client/golden.h"
#include "tests/job/tiny_llama.h"

namespace trainctl::client {
namespace {

constexpr int64_t kSecond = 1'000'000;

class ExplainJobTest : public ClientTest {
 protected:
  v1::JobDetail& Add(const v1::JobView& view) {
    coordinator_.jobs.push_back(view);
    v1::JobDetail& detail = coordinator_.details[view.id()];
    v1::JobEvent& event = *detail.add_events();
    event.set_time(900 * kSecond);
    event.set_text("submitted");
    return detail;
  }

  // A job that waits behind another.
  v1::JobDetail& AddWaiting() {
    v1::JobView view;
    view.set_id("j3");
    view.set_name("wide");
    view.set_state("QUEUED");
    view.set_reason("behind j2, which waits for 4 devices");
    view.set_devices(2);
    view.set_submitted_at(900 * kSecond);
    v1::JobDetail& detail = Add(view);
    detail.mutable_wait()->set_behind("j2");
    detail.mutable_wait()->set_free(1);
    detail.mutable_wait()->set_minutes_that_pass(7);
    return detail;
  }

  static v1::Hindrance& Device(v1::JobDetail& detail, const std::string& worker,
                               const std::string& state) {
    v1::Hindrance& device = *detail.mutable_wait()->add_hindrances();
    device.set_worker(worker);
    device.set_state(state);
    return device;
  }
};

TEST_F(ExplainJobTest, OfAWaitingJobItSaysWhoHasWhatAndWhatWouldHelp) {
  v1::JobDetail& detail = AddWaiting();
  v1::Hindrance& held = Device(detail, "a/0", "BUSY");
  held.set_job("j1");
  held.set_job_name("holder");
  held.set_owner("anna");
  held.set_since(800 * kSecond);
  held.set_until(1500 * kSecond);
  v1::Hindrance& drained = Device(detail, "a/1", "DRAINED");
  drained.set_reason("drained by ops: a fan is broken");
  drained.set_drain("a/1");
  Device(detail, "b/0", "LOST").set_since(950 * kSecond);
  Device(detail, "b/1", "DIRTY").set_reason("process 12 holds 3.00 GiB");
  detail.mutable_wait()->set_more(5);
  ExpectGolden("explain_waiting.txt", Trainctl({"explain", "wide"}).out);
  const Json json = Json::parse(Trainctl({"explain", "j3", "-o", "json"}).out);
  const Json& wait = json["jobs"][0]["wait"];
  EXPECT_EQ(wait["behind"], "j2");
  EXPECT_EQ(wait["hindrances"][0]["job"], "j1");
  EXPECT_EQ(wait["hindrances"][0]["until"], 1500);
  EXPECT_EQ(wait["hindrances"][2]["until"], nullptr);
  EXPECT_EQ(wait["more"], 5);
}

TEST_F(ExplainJobTest, AJobThatHasRunInBetweenWaitsSinceThatEnded) {
  v1::AttemptView& preempted = *AddWaiting().add_attempts();
  preempted.set_started_at(910 * kSecond);
  preempted.set_ended_at(985 * kSecond);
  const std::string text = Trainctl({"explain", "j3"}).out;
  EXPECT_NE(text.find("waits     0:15, since "), std::string::npos) << text;
}

TEST_F(ExplainJobTest, AStartThatIsNotKnownIsSaidAndWhatIsNotKeptOfWhyItWaited) {
  v1::JobDetail& detail = AddWaiting();
  EXPECT_EQ(Trainctl({"explain", "j3"}).out.find("starts"), std::string::npos);
  detail.mutable_wait()->set_why_not_known("");
  EXPECT_NE(Trainctl({"explain", "j3"}).out.find("starts    not known\n"), std::string::npos)
      << Trainctl({"explain", "j3"}).out;
  detail.mutable_wait()->set_why_not_known("behind j2, exclusive");
  detail.set_history_note(
      "Why it waited before the coordinator began, 2026-12-01 14:00 UTC, is "
      "not kept.");
  const std::string told = Trainctl({"explain", "j3"}).out;
  EXPECT_NE(told.find("starts    not known (behind j2, exclusive)\n"), std::string::npos) << told;
  EXPECT_TRUE(told.ends_with("is not kept.\n")) << told;
  const Json json = Json::parse(Trainctl({"explain", "j3", "-o", "json"}).out)["jobs"][0];
  EXPECT_EQ(json["wait"]["why_start_not_known"], "behind j2, exclusive");
}

// The fake's contract test says of the real coordinator that it tells the host.
TEST_F(ExplainJobTest, OfAHostThatIsDrainedAsAWholeTheHostIsSaidOnce) {
  coordinator_.workers = {CpuWorker("a/0", "READY"), CpuWorker("a/1", "READY")};
  ASSERT_EQ(Trainctl({"drain", "a", "--reason", "a fan is broken"}).code, kExitOk);
  v1::JobView& view = coordinator_.jobs.emplace_back();
  view.set_id("j1");
  view.set_name("tiny");
  view.set_state("QUEUED");
  view.set_devices(1);
  const std::string told = Trainctl({"explain", "j1"}).out;
  ExpectGolden("explain_drained_host.txt", told);
  EXPECT_EQ(Trainctl({"undrain", "a"}).code, kExitOk) << "as it advises";
}

TEST_F(ExplainJobTest, OfARunningJobItSaysWhereItIsAndWhenItMayEnd) {
  v1::JobView view = RunningJob("j1", "tiny");
  view.set_started_at(940 * kSecond);
  v1::JobDetail& detail = Add(view);
  detail.set_expected_end(1600 * kSecond);
  ExpectGolden("explain_running.txt", Trainctl({"explain", "j1"}).out);
}

TEST_F(ExplainJobTest, AnEndNamesTheTimeLimitOnlyWhereThereIsOne) {
  job::JobSpec job{.name = "tiny", .model = {.path = "m"}, .data = {.path = "d"}};
  job.resources.time_limit_seconds = 600;
  v1::JobDetail& detail = Add(RunningJob("j1", "tiny"));
  detail.set_expected_end(1600 * kSecond);
  const std::string when = "about 1970-01-01 00:26:40 UTC, as predicted";
  EXPECT_NE(Trainctl({"explain", "j1"}).out.find(when + "\n"), std::string::npos);
  detail.set_job_json(job::ToJson(job));
  const std::string bound = Trainctl({"explain", "j1"}).out;
  EXPECT_NE(bound.find(when + " or by its time limit, whichever comes first\n"), std::string::npos)
      << bound;
}

TEST_F(ExplainJobTest, WhatWasExpectedIsSaidWhereSomethingElseCame) {
  job::JobSpec job{.name = "tiny", .model = {.path = "m"}, .data = {.path = "d"}};
  job.expect = job::Expect::kOom;
  v1::JobView view = FinishedJob("j1", "tiny", "SUCCEEDED");
  view.set_as_expected(false);
  view.set_message("finished");
  Add(view).set_job_json(job::ToJson(job));
  EXPECT_TRUE(Trainctl({"explain", "j1"})
                  .out.starts_with("tiny (j1), SUCCEEDED, not as expected (OOM): finished\n"));
}

TEST_F(ExplainJobTest, OfAFailedJobItSaysWhatEndedEachAttempt) {
  v1::JobView view = FinishedJob("j1", "tiny", "FAILED");
  view.set_message("rank 1 exited with code 3");
  v1::JobDetail& detail = Add(view);
  for (const int attempt : {1, 2}) {
    v1::AttemptView& ended = *detail.add_attempts();
    ended.set_attempt(attempt);
    ended.set_outcome("FAILED");
    ended.set_rank(1);
    ended.set_exit_code(3);
    ended.set_last_log_lines("first\nsecond\n");
  }
  ExpectGolden("explain_failed.txt", Trainctl({"explain", "j1"}).out);
}

TEST_F(ExplainJobTest, AfterAnOomItShowsLeanerWaysToTrainTheSame) {
  v1::JobDetail& detail = Add(FinishedJob("j1", "big", "OOM_GPU"));
  v1::AttemptView& attempt = *detail.add_attempts();
  attempt.set_attempt(1);
  attempt.set_outcome("OOM_GPU");
  attempt.set_oom_json(job::ToJson(
      job::OomDetail{0, {job::Work::kForward}, int64_t{2} << 30, int64_t{16} << 30, {}}));
  job::JobSpec job{
      .name = "big", .model = {.path = "/models/big"}, .data = {.path = "/data/rows.json"}};
  job.train.micro_batch_size = 4;
  job.train.global_batch_size = 4;
  detail.set_job_json(job::ToJson(job));
  coordinator_.workers = {CpuWorker("a/0", "READY")};
  coordinator_.workers[0].mutable_device()->set_memory_bytes(int64_t{20} << 30);
  EXPECT_EQ(Trainctl({"explain", "j1"}).out.find("less memory"), std::string::npos)
      << "nobody can look at the model";
  job::Inspection inspection = job::tiny_llama::TinyLlama();
  inspection.model.max_positions = 2048;
  inspection.rows = 1000;
  inspection.total_tokens = 50'000;
  inspection.data_digest = "d1";
  v1::InspectResponse response;
  response.set_inspection_json(job::ToJson(inspection));
  coordinator_.inspection = response;
  const Ended ended = Trainctl({"explain", "j1"});
  EXPECT_NE(ended.out.find("What is predicted to need less memory and to train the same:"),
            std::string::npos)
      << ended.out << ended.err;
  const Json json = Json::parse(Trainctl({"explain", "j1", "-o", "json"}).out);
  const Json& ways = json["jobs"][0]["leaner_ways"];
  ASSERT_FALSE(ways.empty());
  EXPECT_NE(ways[0]["overrides"], "");
}

TEST_F(ExplainJobTest, WhatIsNeitherTopicNorJobIsSaid) {
  EXPECT_EQ(Trainctl({"explain", "j9"}).code, kExitNotFound);
  coordinator_.unreachable = true;
  const Ended ended = Trainctl({"explain", "acumulation"});
  EXPECT_EQ(ended.code, kExitNotFound);
  EXPECT_NE(ended.err.find("no topic or job 'acumulation'"), std::string::npos) << ended.err;
}

}  // namespace
}  // namespace trainctl::client
