// "micro_batch_size": "auto" through the real stream and the real API: tried, halved, proven, told.
#include <gtest/gtest.h>

#include <algorithm>

#include "common/job/job_json.h"
#include "common/rank/rank_json.h"
#include "tests/rpc/fake_worker.h"
#include "tests/rpc/test_site.h"

namespace trainctl::rpc_test {
namespace {

using Stub = v1::Coordinator::Stub;

std::string SubmitAuto(TestSite& site, int64_t estimated) {
  job::JobSpec spec = job::FromJson(JobJson("auto")).value();
  spec.train.micro_batch_size = estimated;
  spec.train.global_batch_size = 16;
  v1::SubmitRequest request;
  request.set_request_id("auto");
  request.add_jobs()->set_job_json(job::ToJson(spec));
  request.mutable_jobs(0)->set_micro_batch_auto(true);
  request.mutable_jobs(0)->set_inspection_json(InspectionJson());
  v1::SubmitResponse response;
  EXPECT_TRUE(site.Call(&Stub::Submit, request, &response).ok());
  return response.jobs(0).id();
}

// Takes the start command; the rank is in its trial.
job::RankPlan BeginTrial(FakeWorker& worker, job::RankKey* rank) {
  const v1::StartRank start = worker.Next(v1::CoordinatorMessage::kStart).start();
  *rank = *wire::ReadRankKey(start.job(), start.attempt(), start.rank());
  worker.Report(*rank, job::RankStarted{.pid = 4711});
  worker.Report(*rank, job::RankPhase{.phase = job::RunPhase::kTrial});
  return job::RankPlanFromJson(start.plan_json()).value();
}

void RunOutOfMemory(FakeWorker& worker, const job::RankKey& rank) {
  worker.Report(rank,
                job::RankOutcome{job::Outcome::kOomGpu, "out of device memory",
                                 job::OomDetail{0, {job::Work::kBackward, true}, 1000, 2000, {}}});
  job::RankExit exit;
  exit.exit_code = 1;
  worker.Report(rank, std::move(exit));
  worker.SayFree();
}

// Tried with 8, which does not fit, then with 4.
void SucceedWithHalf(TestSite& site, FakeWorker& worker, const std::string& job,
                     job::RankKey rank) {
  RunOutOfMemory(worker, rank);
  const job::RankPlan second = BeginTrial(worker, &rank);
  EXPECT_TRUE(second.trial);
  EXPECT_EQ(second.job.train.micro_batch_size, 4);
  EXPECT_EQ(second.job.train.global_batch_size, 16);
  worker.Report(rank, job::RankPhase{.phase = job::RunPhase::kLoading});
  worker.BeginTraining(rank);
  worker.Succeed(rank);
  EXPECT_EQ(site.WaitForState(job, "FINISHED").outcome(), "SUCCEEDED");
}

TEST(Trial, WhatDoesNotFitIsHalvedWithTheGlobalBatchKeptAndTheProvenValueIsTold) {
  TestSite site;
  FakeWorker worker("a/0");
  worker.Connect(site.channel());
  const std::string job = SubmitAuto(site, 8);
  job::RankKey rank;
  const job::RankPlan first = BeginTrial(worker, &rank);
  EXPECT_TRUE(first.trial);
  EXPECT_EQ(first.job.train.micro_batch_size, 8);
  site.WaitFor(job,
               [](const v1::JobView& view) { return view.reason() == "trial of micro batch 8"; });
  SucceedWithHalf(site, worker, job, rank);

  const v1::JobDetail detail = site.Get(job);
  EXPECT_EQ(detail.auto_micro_batch(), 8);
  EXPECT_EQ(job::FromJson(detail.job_json())->train.micro_batch_size, 4);
  ASSERT_EQ(detail.attempts_size(), 2);
  EXPECT_EQ(detail.attempts(0).trial(), "failed");
  EXPECT_EQ(detail.attempts(0).micro_batch_size(), 8);
  EXPECT_EQ(detail.attempts(1).trial(), "passed");
  EXPECT_EQ(detail.attempts(1).micro_batch_size(), 4);
}

TEST(Trial, CompareShowsTheProvenValueAndDoesNotCallTheRunRestarted) {
  TestSite site;
  FakeWorker worker("a/0");
  worker.Connect(site.channel());
  const std::string job = SubmitAuto(site, 8);
  job::RankKey rank;
  BeginTrial(worker, &rank);
  SucceedWithHalf(site, worker, job, rank);
  v1::CompareRequest request;
  request.add_jobs(job);
  v1::CompareResponse compared;
  ASSERT_TRUE(site.Call(&Stub::Compare, request, &compared).ok());
  const auto& same = compared.same();
  EXPECT_NE(std::find(same.begin(), same.end(), "micro batch 4"), same.end());
  EXPECT_NE(std::find(same.begin(), same.end(), "accumulation 4"), same.end());
  EXPECT_EQ(compared.warnings_size(), 0) << compared.warnings(0);
}

TEST(Trial, ANumberIsNotTried) {
  TestSite site;
  FakeWorker worker("a/0");
  worker.Connect(site.channel());
  site.Submit("tiny");
  EXPECT_FALSE(
      job::RankPlanFromJson(worker.Next(v1::CoordinatorMessage::kStart).start().plan_json())
          ->trial);
}

}  // namespace
}  // namespace trainctl::rpc_test
