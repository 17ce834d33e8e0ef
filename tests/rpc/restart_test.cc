// What must survive: of requests sent twice, of the coordinator's end, of streams that break.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <future>
#include <set>

#include "tests/rpc/fake_worker.h"
#include "tests/rpc/test_site.h"
#include "tests/rpc/training_job.h"

namespace trainctl::rpc_test {
namespace {

using Stub = v1::Coordinator::Stub;

std::string SubmitAs(TestSite& site, const std::string& request_id) {
  v1::SubmitRequest request;
  request.set_request_id(request_id);
  request.add_jobs()->set_job_json(JobJson("once"));
  v1::SubmitResponse response;
  const grpc::Status status = site.Call(&Stub::Submit, request, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return response.jobs_size() == 1 ? response.jobs(0).id() + " " + response.jobs(0).name() : "";
}

int CountJobs(TestSite& site) {
  v1::ListResponse response;
  EXPECT_TRUE(site.Call(&Stub::List, v1::ListRequest(), &response).ok());
  return response.jobs_size();
}

TEST(Restart, TheSameRequestIsOneJobAlsoAfterARestart) {
  TestSite site;
  EXPECT_EQ(SubmitAs(site, "r1"), "j1 once");
  EXPECT_EQ(SubmitAs(site, "r1"), "j1 once");
  site.Restart();
  EXPECT_EQ(SubmitAs(site, "r1"), "j1 once");
  EXPECT_EQ(SubmitAs(site, "r2"), "j2 once");
  EXPECT_EQ(CountJobs(site), 2);
}

TEST(Restart, ANewJobDoesNotShowTheLogOfOneThatTheDatabaseLost) {
  TestSite site;
  site.Stop();
  const std::string lost = site.directory() + "/logs/j7/1";
  std::filesystem::create_directories(lost);
  std::ofstream(lost + "/0.log") << "another's";
  std::filesystem::create_directories(site.directory() + "/logs/j9223372036854775807");
  site.Start();
  EXPECT_EQ(site.Submit("new"), "j8");
  site.Restart();
  EXPECT_EQ(site.Submit("newer"), "j9");
  EXPECT_TRUE(std::filesystem::exists(lost + "/0.log")) << "it may be all that is left of the job";
}

TEST(Restart, AGroupKeepsItsBound) {
  TestSite site;
  FakeWorker worker("a/0");
  worker.Connect(site.channel());
  v1::SubmitRequest request;
  request.set_request_id("r1");
  request.set_group_name("lab");
  request.set_max_parallel(-1);
  for (const char* name : {"first", "second"}) request.add_jobs()->set_job_json(JobJson(name));
  v1::SubmitResponse response;
  EXPECT_EQ(site.Call(&Stub::Submit, request, &response).error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
  request.set_max_parallel(1);
  ASSERT_TRUE(site.Call(&Stub::Submit, request, &response).ok());
  const std::string waits = "waits for its group, of which at most 1 go at once: j1";
  EXPECT_EQ(site.Get("j2").view().reason(), waits);
  worker.Disconnect();
  site.Restart();
  EXPECT_EQ(site.Get("j2").view().reason(), waits);
}

TEST(Restart, ASecondWorkerOfTheSameNameIsRefusedAndTheJobGoesOn) {
  TestSite site;
  FakeWorker worker("a/0", "one"), other("a/0", "two");
  const auto [job, rank] = Train(site, worker, "survivor");
  worker.WaitForAck(rank, 2);
  other.Knock(site.channel());
  const grpc::Status refusal = other.WaitForEnd();
  EXPECT_EQ(refusal.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_NE(refusal.error_message().find("another trainworker is connected as 'a/0'"),
            std::string::npos)
      << refusal.error_message();

  site.Stop();
  worker.Disconnect();
  site.Start();
  other.Knock(site.channel());
  EXPECT_EQ(other.WaitForEnd().error_code(), grpc::StatusCode::FAILED_PRECONDITION)
      << "the first one's rank may go on without it";
  worker.Connect(site.channel());
  worker.Succeed(rank);
  const v1::JobView view = site.WaitForState(job, "FINISHED");
  EXPECT_EQ(view.outcome(), "SUCCEEDED");
  EXPECT_EQ(view.attempt(), 1);
}

TEST(Restart, TheSameRequestFromManyAtOnceIsOneJob) {
  TestSite site;
  std::vector<std::future<std::string>> answers;
  for (int i = 0; i < 8; ++i)
    answers.push_back(std::async(std::launch::async, [&site] { return SubmitAs(site, "r1"); }));
  std::set<std::string> ids;
  for (auto& answer : answers) ids.insert(answer.get());
  EXPECT_EQ(ids, std::set<std::string>{"j1 once"});
  EXPECT_EQ(CountJobs(site), 1);
}

TEST(Restart, ARunningJobGoesOnAndEachPointIsStoredOnce) {
  TestSite site;
  FakeWorker worker("a/0");
  const auto [job, rank] = Train(site, worker, "survivor");
  worker.Report(rank, job::RankMetrics{{{"loss", 0, std::nullopt, std::nullopt, 4.0, 1}}});
  worker.WaitForAck(rank, 3);
  worker.Log(rank, 0, "one\n");
  worker.WaitForLogAck(rank, 4);

  site.Stop();
  worker.Disconnect();
  worker.Report(rank, job::RankMetrics{{{"loss", 1, std::nullopt, std::nullopt, 3.0, 2}}});
  site.Start();
  EXPECT_EQ(site.Get(job).view().state(), "RUNNING") << "before its worker is back";

  const v1::Welcome welcome = worker.Connect(site.channel());
  ASSERT_EQ(welcome.acks_size(), 1);
  EXPECT_EQ(welcome.acks(0).sequence(), 3);
  ASSERT_EQ(welcome.log_acks_size(), 1);
  EXPECT_EQ(welcome.log_acks(0).offset(), 4);
  worker.SendAgain();
  worker.Log(rank, 0, "one\ntwo\n");
  worker.WaitForLogAck(rank, 8);
  worker.Succeed(rank);
  EXPECT_EQ(site.WaitForState(job, "FINISHED").outcome(), "SUCCEEDED");
  EXPECT_EQ(site.Get(job).attempts_size(), 1);
  const auto points = site.Metrics(job, {"loss"});
  ASSERT_EQ(points.size(), 2u);
  EXPECT_EQ(points[0].value(), 4.0);
  EXPECT_EQ(points[1].value(), 3.0);
  const auto summaries = site.Get(job).summaries();
  ASSERT_EQ(summaries.size(), 1);
  EXPECT_EQ(summaries[0].count(), 2);
  v1::LogsRequest logs;
  logs.set_job(job);
  std::string text;
  EXPECT_TRUE(site.Logs(logs, &text).ok());
  EXPECT_EQ(text, "one\ntwo\n");
}

TEST(Restart, WhatWasDecidedStaysDecided) {
  TestSite site;
  const std::string job = site.Submit("unwanted");
  v1::CancelRequest request;
  request.add_jobs(job);
  v1::CancelResponse response;
  ASSERT_TRUE(site.Call(&Stub::Cancel, request, &response).ok());
  site.Restart();
  EXPECT_EQ(site.Get(job).view().outcome(), "CANCELLED");
}

TEST(Restart, ANewerStreamOfAWorkerTakesTheOlderOnesPlace) {
  TestSite site;
  FakeWorker older("a/0"), newer("a/0");
  older.Connect(site.channel());
  newer.Connect(site.channel());
  // UNAVAILABLE, or CANCELLED where the Welcome was still being written.
  const grpc::StatusCode code = older.WaitForEnd().error_code();
  EXPECT_TRUE(code == grpc::StatusCode::UNAVAILABLE || code == grpc::StatusCode::CANCELLED) << code;
  site.Submit("tiny");
  EXPECT_EQ(base::ToString(newer.Start().job), "j1");
}

TEST(Restart, AWorkerThatBreaksOffMayComeBackAndGoOn) {
  TestSite site;
  FakeWorker worker("a/0");
  const auto [job, rank] = Train(site, worker, "tiny");
  worker.WaitForAck(rank, 2);
  worker.Disconnect();
  EXPECT_EQ(worker.Connect(site.channel()).acks(0).sequence(), 2);
  worker.Succeed(rank);
  EXPECT_EQ(site.WaitForState(job, "FINISHED").outcome(), "SUCCEEDED");
}

TEST(Restart, AStopEndsOpenStreamsWithAWordAboutIt) {
  TestSite site;
  FakeWorker worker("a/0");
  worker.Connect(site.channel());
  const std::string job = site.Submit("watched");
  worker.Start();
  v1::WatchRequest request;
  request.add_jobs(job);
  grpc::ClientContext context;
  const auto watch = site.stub().Watch(&context, request);
  v1::JobView view;
  ASSERT_TRUE(watch->Read(&view));
  auto stopped = std::async(std::launch::async, [&site] { site.Stop(); });
  while (watch->Read(&view)) {
  }
  EXPECT_EQ(watch->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(worker.WaitForEnd().error_code(), grpc::StatusCode::UNAVAILABLE);
  stopped.get();
}

}  // namespace
}  // namespace trainctl::rpc_test
