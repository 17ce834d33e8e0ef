// What a job's page is told of other ways to run it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "common/estimate/inspection.h"
#include "common/job/job_json.h"
#include "tests/web/web_api.h"

namespace trainctl::web_test {
namespace {

using testing::HasSubstr;

TEST_F(WebApi, OtherWaysToRunAJobHaveTheirMemoryAndTheOneAsked) {
  TrainSteps(1);
  const Json advice = GetJson(site_, "/api/advice?job=" + job_.id);
  EXPECT_EQ(advice["name"], kHostile);
  EXPECT_EQ(advice["devices"], 1);
  EXPECT_EQ(advice["devices_left_out"], Json::object());
  EXPECT_EQ(advice["asked"]["overrides"], "");
  EXPECT_EQ(advice["asked"]["devices"], 1);
  EXPECT_GT(advice["asked"]["peak_allocated_bytes"], 0);
  EXPECT_TRUE(advice["asked"].at("energy_joules").is_null()) << "nobody has measured power";
  EXPECT_GE(advice["considered"], 1);
  EXPECT_TRUE(advice["asked"].contains("disturbed"));
  for (const Json& way : advice["fitting"]) EXPECT_EQ(way.at(2), false) << "none was measured";
  EXPECT_TRUE(advice["asked"].at("refused").is_null());
  EXPECT_EQ(advice["asked"]["limit_bytes"], advice["limit_bytes"]);
  EXPECT_TRUE(advice["asked"]["memory"].contains("phases"));
  for (const Json& way : advice["front"]) {
    int64_t sum = 0;
    for (const Json& kind : way.at("peak_by_kind")) sum += kind["bytes"].get<int64_t>();
    EXPECT_EQ(sum, way["peak_allocated_bytes"]) << way["peak_by_kind"].dump();
  }
  EXPECT_THAT(GetJson(site_, "/api/advice?job=j99", 404)["error"], HasSubstr("j99"));
}

// Of runs in the store, as `trainctl advise` has it of those that the coordinator tells of.
TEST_F(WebApi, TheTimesOfOtherWaysAreScaledByTheRunsOfThis) {
  TrainSteps(1);
  constexpr double kStepSeconds = 1000;
  std::vector<job::MetricPoint> points;
  for (const int64_t step : {0, 1, 2}) {
    points.push_back(
        {"step_seconds", step, std::nullopt, std::nullopt, kStepSeconds, 1'700'000'000'000'000});
  }
  worker_.Report(job_.rank, job::RankMetrics{points});
  worker_.Succeed(job_.rank);
  site_.WaitForState(job_.id, "FINISHED");
  const Json advice = GetJson(site_, "/api/advice?job=" + job_.id);
  EXPECT_EQ(advice["asked"]["time_from"], "1 run");
  EXPECT_EQ(advice["asked"]["step_seconds"], kStepSeconds);
  const double whole = advice["asked"]["total_seconds"];
  for (const Json& way : advice["fitting"]) EXPECT_GT(way.at(0), 0.1 * whole) << way.dump();
  for (const Json& way : advice["front"]) {
    if (way["overrides"] == "") continue;
    EXPECT_THAT(way["time_from"].get<std::string>(), testing::StartsWith("rates × "));
  }
}

// Why the job as it is can't be taken, and how little memory would do, as `trainctl advise` says.
TEST_F(WebApi, WhatDoesNotFitIsSaidWithTheLeastPeak) {
  TrainSteps(1);
  job::JobSpec tight = rpc_test::SmallJob("tight");
  tight.resources.gpu_memory_limit_bytes = int64_t{1} << 20;
  job::Inspection inspection{.rows = 1000};
  inspection.model = {.layers = 2,
                      .hidden = 64,
                      .intermediate = 128,
                      .heads = 4,
                      .kv_heads = 4,
                      .head_dim = 16,
                      .vocab = 5120,
                      .max_positions = 2048};
  v1::SubmitRequest request;
  request.set_request_id("of a tight job");
  request.set_force(true);
  request.add_jobs()->set_job_json(job::ToJson(tight));
  request.mutable_jobs(0)->set_inspection_json(job::ToJson(inspection));
  v1::SubmitResponse response;
  ASSERT_TRUE(site_.Call(&v1::Coordinator::Stub::Submit, request, &response).ok());
  const Json advice = GetJson(site_, "/api/advice?job=" + response.jobs(0).id());
  EXPECT_EQ(advice["asked"]["refused"], "it does not fit 1.00 MiB with a margin");
  ASSERT_EQ(advice["excluded"].size(), 1u) << advice["excluded"].dump();
  EXPECT_EQ(advice["excluded"][0]["reason"], "more memory than a device has");
  EXPECT_GT(advice["excluded"][0]["least_peak_bytes"], 1 << 20);
}

// As `trainctl advise` has it.
TEST_F(WebApi, OtherWaysAreNotOfDevicesFromWhichTheRulesOfTheirHostsKeepTheJob) {
  rpc_test::FakeWorker barred("b/0", "b");
  barred.SetReadRoots({"/elsewhere"});
  barred.Connect(site_.channel());
  TrainSteps(1);
  const Json advice = GetJson(site_, "/api/advice?job=" + job_.id);
  EXPECT_EQ(advice["devices"], 1);
  ASSERT_EQ(advice["devices_left_out"].size(), 1u) << advice["devices_left_out"].dump();
  const std::string why = advice["devices_left_out"].begin().key();
  EXPECT_THAT(why, HasSubstr("not on b: "));
  EXPECT_THAT(why, HasSubstr("/elsewhere"));
}

TEST_F(WebApi, OtherWaysAreOfOneModelAndDevicesOfAnotherAreCounted) {
  rpc_test::FakeWorker other("b/0");
  other.SetModel("CPU slot, 64 threads");
  other.Connect(site_.channel());
  TrainSteps(1);
  const Json advice = GetJson(site_, "/api/advice?job=" + job_.id);
  EXPECT_EQ(advice["devices"], 1);
  EXPECT_EQ(advice["devices_left_out"].size(), 1u);
  EXPECT_THAT(advice["devices_left_out"].begin().key(), HasSubstr(": another model"));
  EXPECT_EQ(advice["devices_left_out"].begin().value(), 1);
}

}  // namespace
}  // namespace trainctl::web_test
