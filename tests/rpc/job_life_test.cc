// A job through the real stream and the real API: submitted, placed, reported on, ended.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "common/rank/rank_json.h"
#include "tests/rpc/fake_worker.h"
#include "tests/rpc/test_site.h"
#include "tests/rpc/training_job.h"

namespace trainctl::rpc_test {
namespace {

using Stub = v1::Coordinator::Stub;

job::MetricPoint Loss(int64_t step, double value) {
  return {"loss", step, std::nullopt, std::nullopt, value, 1'700'000'000'000'000 + step};
}

TEST(JobLife, FromSubmitToSuccess) {
  TestSite site;
  FakeWorker worker("a/0");
  worker.Connect(site.channel());
  const std::string job = site.Submit("tiny");
  EXPECT_EQ(job, "j1");

  const job::RankKey rank = worker.Start();
  EXPECT_EQ(site.WaitForState(job, "STARTING").placement(0), "a/0");
  worker.BeginTraining(rank);
  worker.Report(rank,
                job::RankProgress{.step = 1, .steps = 2, .loss = 3.5, .peak_allocated_bytes = 5});
  const v1::JobView running =
      site.WaitFor(job, [](const v1::JobView& view) { return view.step() == 1; });
  EXPECT_EQ(running.state(), "RUNNING");
  EXPECT_EQ(running.steps(), 2);
  EXPECT_GE(running.told_at(), running.started_at());
  EXPECT_EQ(running.loss(), 3.5);

  worker.Report(rank, job::RankMetrics{{Loss(0, 4.0), Loss(1, 3.5)}});
  worker.Report(rank, job::RankProgress{.step = 2, .steps = 2, .loss = 3.25});
  worker.Succeed(rank);
  const v1::JobView finished = site.WaitForState(job, "FINISHED");
  EXPECT_EQ(finished.outcome(), "SUCCEEDED");
  EXPECT_EQ(finished.step(), 2);

  const v1::JobDetail detail = site.Get(job);
  EXPECT_EQ(detail.job_json(), JobJson("tiny"));
  ASSERT_EQ(detail.attempts_size(), 1);
  EXPECT_EQ(detail.attempts(0).outcome(), "SUCCEEDED");
  EXPECT_EQ(detail.attempts(0).ranks(0).pid(), 4711);
  EXPECT_EQ(detail.attempts(0).ranks(0).commit(), "c0ffee");
  EXPECT_EQ(detail.attempts(0).ranks(0).driver(), "580.95");
  EXPECT_GT(detail.events_size(), 0);
  const auto points = site.Metrics(job);
  ASSERT_EQ(points.size(), 2u);
  EXPECT_EQ(points[1].value(), 3.5);
  EXPECT_EQ(points[1].step(), 1);
}

TEST(JobLife, EndedWhenItsRankDidByItsWorkersWord) {
  TestSite site;
  FakeWorker worker("a/0");
  worker.Connect(site.channel());
  const std::string job = site.Submit("tiny");
  const job::RankKey rank = worker.Start();
  worker.BeginTraining(rank);
  worker.Report(rank, job::RankOutcome{job::Outcome::kSucceeded, "", std::nullopt});
  worker.Report(rank, job::RankExit{.exit_code = 0, .age_us = int64_t{3'600'000'000}});
  worker.SayFree();
  const v1::JobView finished = site.WaitForState(job, "FINISHED");
  EXPECT_EQ(finished.ended_at(), finished.started_at()) << "an hour ago, but not before its start";
}

TEST(JobLife, AGangMeetsThroughTheCoordinator) {
  TestSite site;
  FakeWorker first("a/0"), second("a/1");
  first.Connect(site.channel());
  second.Connect(site.channel());
  site.Submit("pair", 2);
  const job::RankKey rank0 = first.Start(), rank1 = second.Start();
  FakeWorker& leader = rank0.rank == 0 ? first : second;
  FakeWorker& other = rank0.rank == 0 ? second : first;
  const job::RankKey key0 = rank0.rank == 0 ? rank0 : rank1, key1 = rank0.rank == 0 ? rank1 : rank0;
  leader.Report(key0, job::RankPhase{.phase = job::RunPhase::kJoining});
  other.Report(key1, job::RankPhase{.phase = job::RunPhase::kJoining});
  leader.Report(key0, job::RankRendezvous{"abcdef"});
  const v1::Peers peers = other.Next(v1::CoordinatorMessage::kPeers).peers();
  EXPECT_EQ(peers.blob(), "abcdef");
  EXPECT_EQ(peers.rank(), 1);
}

TEST(JobLife, ARankThatDiesIsToldWithItsLastLines) {
  TestSite site;
  FakeWorker worker("a/0");
  const auto [job, rank] = Train(site, worker, "dies");
  job::RankExit exit;
  exit.exit_code = 3;
  exit.last_log_lines = "Traceback: no such file\n";
  worker.Report(rank, std::move(exit));
  worker.SayFree();
  EXPECT_EQ(site.WaitForState(job, "FINISHED").outcome(), "FAILED");
  const v1::AttemptView attempt = site.Get(job).attempts(0);
  EXPECT_EQ(attempt.exit_code(), 3);
  EXPECT_EQ(attempt.rank(), 0);
  EXPECT_EQ(attempt.last_log_lines(), "Traceback: no such file\n");
}

TEST(JobLife, OutOfMemoryIsAnOutcomeWithItsDetail) {
  TestSite site;
  FakeWorker worker("a/0");
  const auto [job, rank] = Train(site, worker, "large");
  job::OomDetail oom{0, {job::Work::kBackward}, 1000, 2000, {}};
  oom.memory.params = 700;
  worker.Report(rank, job::RankOutcome{job::Outcome::kOomGpu, "out of memory", oom});
  job::RankExit exit;
  exit.exit_code = 1;
  worker.Report(rank, std::move(exit));
  worker.SayFree();
  EXPECT_EQ(site.WaitForState(job, "FINISHED").outcome(), "OOM_GPU");
  EXPECT_EQ(site.Get(job).attempts(0).oom_json(), job::ToJson(oom));
}

TEST(JobLife, MessagesThatCannotBeReadAreCountedAndSaidAndStopNothing) {
  TestSite site;
  FakeWorker worker("a/0");
  const auto [job, rank] = Train(site, worker, "tiny");
  for (int i = 0; i < 12; ++i) worker.Report(rank, job::UnreadableMessage{});
  worker.Report(rank, job::RankDropped{3});
  worker.Succeed(rank);
  EXPECT_EQ(site.WaitForState(job, "FINISHED").outcome(), "SUCCEEDED");
  const v1::JobDetail detail = site.Get(job);
  std::vector<std::string> said;
  for (const v1::JobEvent& event : detail.events()) {
    if (event.text().find("can't be read") != std::string::npos) said.push_back(event.text());
  }
  ASSERT_EQ(said.size(), 2u) << "of the first and the tenth";
  EXPECT_EQ(said[1].rfind("rank 0: messages that can't be read: 10, this one: ", 0), 0u) << said[1];
  EXPECT_TRUE(std::ranges::any_of(detail.events(), [](const v1::JobEvent& event) {
    return event.text().starts_with("rank 0: 3 messages of progress and metrics are lost");
  }));
}

TEST(JobLife, ACancelledJobInTheQueueEndsAtOnce) {
  TestSite site;
  const std::string job = site.Submit("unwanted");
  v1::CancelRequest request;
  request.add_jobs("unwanted");
  v1::CancelResponse response;
  ASSERT_TRUE(site.Call(&Stub::Cancel, request, &response).ok());
  EXPECT_EQ(response.jobs(0).id(), job);
  EXPECT_EQ(site.WaitForState(job, "FINISHED").outcome(), "CANCELLED");
  EXPECT_TRUE(site.Call(&Stub::Cancel, request, &response).ok())
      << "a second time changes nothing and succeeds";
}

TEST(JobLife, ACancelledRankIsStoppedAndTheJobEndsWhenItsDeviceIsFree) {
  TestSite site;
  FakeWorker worker("a/0");
  const auto [job, rank] = Train(site, worker, "unwanted");
  v1::CancelRequest request;
  request.add_jobs(job);
  v1::CancelResponse response;
  ASSERT_TRUE(site.Call(&Stub::Cancel, request, &response).ok());
  EXPECT_GT(worker.Next(v1::CoordinatorMessage::kStop).stop().grace_seconds(), 0);
  EXPECT_EQ(site.WaitForState(job, "STOPPING").outcome(), "");
  job::RankExit exit;
  exit.signal = 15;
  worker.Report(rank, std::move(exit));
  worker.SayFree();
  EXPECT_EQ(site.WaitForState(job, "FINISHED").outcome(), "CANCELLED");
}

TEST(JobLife, AGroupIsSubmittedWholeAndCompared) {
  TestSite site;
  v1::SubmitRequest request;
  request.set_request_id("lab");
  request.set_group_name("lab1");
  request.add_jobs()->set_job_json(JobJson("first"));
  request.add_jobs()->set_job_json(JobJson("second"));
  v1::SubmitResponse submitted;
  ASSERT_TRUE(site.Call(&Stub::Submit, request, &submitted).ok());
  EXPECT_EQ(submitted.group(), "g1");
  ASSERT_EQ(submitted.jobs_size(), 2);
  EXPECT_EQ(submitted.jobs(1).name(), "second");

  v1::CompareResponse compared;
  ASSERT_TRUE(site.Call(&Stub::Compare, v1::CompareRequest(), &compared).ok())
      << "none named: the newest group";
  ASSERT_EQ(compared.jobs_size(), 2);
  EXPECT_EQ(compared.jobs(0).name(), "first");

  v1::GetRequest get;
  get.set_job("lab1");
  v1::GetResponse got;
  ASSERT_TRUE(site.Call(&Stub::Get, get, &got).ok());
  EXPECT_EQ(got.jobs_size(), 2);
  EXPECT_EQ(got.group_name(), "lab1");
}

TEST(JobLife, ANameMeansTheNewestJobAndAnIdAlwaysWins) {
  TestSite site;
  const std::string older = site.Submit("same");
  v1::SubmitRequest request;
  request.set_request_id("another one");
  request.add_jobs()->set_job_json(JobJson("same"));
  v1::SubmitResponse response;
  ASSERT_TRUE(site.Call(&Stub::Submit, request, &response).ok());
  EXPECT_EQ(site.Get("same").view().id(), response.jobs(0).id());
  EXPECT_EQ(site.Get(older).view().id(), older);
}

TEST(JobLife, TheAddressFileHoldsTheAddress) {
  TestSite site;
  std::string address;
  std::getline(std::ifstream(site.directory() + "/coordinator.addr"), address);
  EXPECT_EQ(address, site.address());
}

}  // namespace
}  // namespace trainctl::rpc_test
