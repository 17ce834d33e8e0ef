// Predictions as the coordinator uses them: what fits no device is refused, and earlier runs are
// told by shape.
#include <gtest/gtest.h>

#include "common/estimate/memory_estimate.h"
#include "common/estimate/prediction.h"
#include "common/job/job_json.h"
#include "tests/job/tiny_llama.h"
#include "tests/rpc/fake_worker.h"
#include "tests/rpc/test_site.h"

namespace trainctl::rpc_test {
namespace {

using Stub = v1::Coordinator::Stub;

// TinyLlama in 32-true: 13.6 GiB at the least, and a CPU slot has 8.
v1::JobSubmission TinyLlamaJob(const std::function<void(job::JobSpec&)>& change =
                                   [](job::JobSpec&) {}) {
  job::JobSpec spec = job::FromJson(JobJson("tiny")).value();
  change(spec);
  v1::JobSubmission submission;
  submission.set_job_json(job::ToJson(spec));
  submission.set_inspection_json(job::ToJson(job::tiny_llama::TinyLlama()));
  return submission;
}

v1::SubmitRequest SubmitOf(const v1::JobSubmission& job, const std::string& id = "r1") {
  v1::SubmitRequest request;
  request.set_request_id(id);
  *request.add_jobs() = job;
  return request;
}

class PredictionTest : public testing::Test {
 protected:
  PredictionTest() { worker_.Connect(site_.channel()); }

  grpc::Status Submit(const v1::SubmitRequest& request) {
    v1::SubmitResponse response;
    return site_.Call(&Stub::Submit, request, &response);
  }

  // A rank of a job that is submitted now, and trains.
  job::RankKey Train(FakeWorker& worker, const std::string& id) {
    v1::SubmitRequest forced = SubmitOf(TinyLlamaJob(), id);
    forced.set_force(true);
    EXPECT_TRUE(Submit(forced).ok());
    const job::RankKey rank = worker.Start();
    worker.BeginTraining(rank);
    return rank;
  }
  void Finish(FakeWorker& worker, const job::RankKey& rank, double step_seconds) {
    std::vector<job::MetricPoint> points;
    for (const int64_t step : {0, 1, 2}) {
      points.push_back(
          {"step_seconds", step, std::nullopt, std::nullopt, step_seconds, 1'700'000'000'000'000});
    }
    worker.Report(rank, job::RankMetrics{points});
    worker.Succeed(rank);
    site_.WaitForState(base::ToString(rank.job), "FINISHED");
  }

  v1::EarlierRunsResponse Earlier(const std::vector<v1::JobSubmission>& jobs) {
    v1::EarlierRunsRequest request;
    for (const v1::JobSubmission& job : jobs) *request.add_jobs() = job;
    v1::EarlierRunsResponse response;
    EXPECT_TRUE(site_.Call(&Stub::EarlierRuns, request, &response).ok());
    EXPECT_EQ(response.jobs_size(), static_cast<int>(jobs.size()));
    return response;
  }

  TestSite site_;
  FakeWorker worker_{"a/0"};
};

// The times of two that shared a host's processors are not those of one that had them to itself.
TEST_F(PredictionTest, RunsThatOthersSlowedCountWhereThereAreNoOthers) {
  FakeWorker beside("a/1");
  beside.Connect(site_.channel());
  const job::RankKey one = Train(worker_, "r1"), other = Train(beside, "r2");
  Finish(worker_, one, 8);
  Finish(beside, other, 10);
  const v1::DeviceRuns slowed = Earlier({TinyLlamaJob()}).jobs(0).devices(0);
  EXPECT_EQ(slowed.step_seconds(), 9);
  EXPECT_EQ(slowed.runs(), 2);
  EXPECT_TRUE(slowed.disturbed());
  Finish(worker_, Train(worker_, "r3"), 2);
  const v1::DeviceRuns alone = Earlier({TinyLlamaJob()}).jobs(0).devices(0);
  EXPECT_EQ(alone.step_seconds(), 2);
  EXPECT_EQ(alone.runs(), 1);
  EXPECT_FALSE(alone.disturbed());
}

TEST_F(PredictionTest, AJobThatFitsNoDeviceIsRefusedWithTheSettingsThatWould) {
  const grpc::Status refused = Submit(SubmitOf(TinyLlamaJob()));
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_NE(refused.error_message().find("at most 8.00 GiB a device"), std::string::npos)
      << refused.error_message();
  EXPECT_NE(refused.error_message().find("--precision bf16-true ("), std::string::npos)
      << refused.error_message();
}

TEST_F(PredictionTest, TheFirstJobThatWaitsIsToldWhenItMayStart) {
  job::JobSpec holder = SmallJob("holder");
  holder.resources.time_limit_seconds = 600;
  site_.Submit(holder);
  site_.Submit("next");
  site_.Submit("last");
  const v1::JobView next = site_.Get("next").view();
  EXPECT_NEAR(static_cast<double>(next.predicted_start() - next.submitted_at()), 610e6, 60e6);
  EXPECT_EQ(site_.Get("last").view().predicted_start(), 0);
  const v1::Wait wait = site_.Get("last").wait();
  EXPECT_EQ(wait.behind(), "j2");
  ASSERT_EQ(wait.hindrances_size(), 1);
  EXPECT_EQ(wait.hindrances(0).worker() + " " + wait.hindrances(0).job_name(), "a/0 holder");
  EXPECT_NEAR(static_cast<double>(wait.hindrances(0).until() - next.predicted_start()), 0, 10e6);
}

TEST_F(PredictionTest, ItIsAcceptedByForceAndWhereThatIsExpected) {
  v1::SubmitRequest forced = SubmitOf(TinyLlamaJob());
  forced.set_force(true);
  EXPECT_TRUE(Submit(forced).ok());
  EXPECT_TRUE(
      Submit(
          SubmitOf(TinyLlamaJob([](job::JobSpec& spec) { spec.expect = job::Expect::kOom; }), "r2"))
          .ok());
}

TEST_F(PredictionTest, ATimeThatIsTooShortIsNotBelieved) {
  v1::JobSubmission job = TinyLlamaJob();
  job::Inspection inspection = job::tiny_llama::TinyLlama();
  inspection.rows = 1000;
  job.set_inspection_json(job::ToJson(inspection));
  const job::TimeEstimate told{.training_seconds = 0.1,
                               .total_seconds = 0.6,
                               .device_name = "NVIDIA H200",
                               .start_seconds = 0.5};
  job.set_prediction_json(job::ToJson(job::Prediction{{}, told}));
  v1::SubmitRequest request = SubmitOf(job);
  request.set_force(true);
  ASSERT_TRUE(Submit(request).ok());
  const auto stored = job::PredictionFromJson(site_.Get("j1").prediction_json());
  EXPECT_EQ(job::TimeText(*stored.value().time), job::TimeText(told)) << "stored as it was told";
  EXPECT_GT(stored.value().time->QueueSeconds(), 10);
  EXPECT_TRUE(stored.value().time->claimed) << "no worker has inspected this";
}

TEST_F(PredictionTest, WithoutAnInspectionNothingIsRefused) {
  v1::JobSubmission job = TinyLlamaJob();
  job.clear_inspection_json();
  EXPECT_TRUE(Submit(SubmitOf(job)).ok());
}

TEST_F(PredictionTest, AnAutomaticMicroBatchMustBeANumberByNow) {
  const grpc::Status refused = Submit(
      SubmitOf(TinyLlamaJob([](job::JobSpec& spec) { spec.train.micro_batch_size.reset(); })));
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_NE(refused.error_message().find("train.micro_batch_size: \"auto\""), std::string::npos)
      << refused.error_message();
}

TEST_F(PredictionTest, SizesThatAreNoModelsAreRefused) {
  v1::JobSubmission job = TinyLlamaJob();
  job::Inspection huge = job::tiny_llama::TinyLlama();
  huge.model.layers = int64_t{1} << 60;
  job.set_inspection_json(job::ToJson(huge));
  EXPECT_EQ(Submit(SubmitOf(job)).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(PredictionTest, EarlierRunsOfTheSameShapeAreToldByDevice) {
  v1::SubmitRequest forced = SubmitOf(TinyLlamaJob());
  forced.set_force(true);
  ASSERT_TRUE(Submit(forced).ok());
  const job::RankKey rank = worker_.Start();
  worker_.BeginTraining(rank);
  std::vector<job::MetricPoint> points;
  for (const double seconds : {9.0, 1.0, 3.0, 2.0}) {
    points.push_back({"step_seconds", static_cast<int64_t>(points.size()), std::nullopt,
                      std::nullopt, seconds, 1'700'000'000'000'000});
  }
  const base::WallMicros placed = site_.Get("j1").attempts(0).started_at();
  points.push_back({"load_seconds", 0, 0, std::nullopt, 7.0, placed + 9'500'000});
  for (const int64_t step : {1, 2})
    points.push_back(
        {"gpu_power_watts", step, 0, std::nullopt, 300.0 * static_cast<double>(step), placed});
  worker_.Report(rank, job::RankMetrics{points});
  worker_.Succeed(rank);
  site_.WaitForState("j1", "FINISHED");

  const auto wider = TinyLlamaJob([](job::JobSpec& spec) { spec.devices = 2; });
  v1::JobSubmission unlike = TinyLlamaJob();
  job::Inspection other_model = job::tiny_llama::TinyLlama();
  ++other_model.model.layers;
  unlike.set_inspection_json(job::ToJson(other_model));
  const v1::EarlierRunsResponse response = Earlier(
      {TinyLlamaJob([](job::JobSpec& spec) { spec.name = "again"; }),
       TinyLlamaJob([](job::JobSpec& spec) { spec.train.micro_batch_size = 2; }), wider, unlike});
  ASSERT_EQ(response.jobs(0).devices_size(), 1);
  const v1::DeviceRuns& runs = response.jobs(0).devices(0);
  EXPECT_EQ(runs.device_name(), "CPU slot");
  EXPECT_EQ(runs.step_seconds(), 2.0) << "the median without the first step";
  EXPECT_EQ(runs.runs(), 1);
  EXPECT_EQ(runs.latest_job(), "j1");
  EXPECT_EQ(runs.watts(), 450) << "the mean while it ran";
  ASSERT_EQ(response.powers_size(), 1);
  EXPECT_EQ(response.powers(0).device_name(), "CPU slot");
  EXPECT_EQ(response.powers(0).watts(), 450) << "for jobs of other shapes too";
  EXPECT_EQ(response.powers(0).runs(), 1);
  EXPECT_EQ(response.jobs(1).devices_size(), 0);
  const char* sources[] = {"alike", "alike", "model", "other models"};
  for (int i = 0; i < response.jobs_size(); ++i) {
    const v1::ShapeRuns& asked = response.jobs(i);
    ASSERT_EQ(asked.starts_size(), 1);
    EXPECT_EQ(asked.starts(0).source(), sources[i]);
    EXPECT_EQ(asked.starts(0).device_name(), "CPU slot");
    EXPECT_EQ(asked.starts(0).load_seconds(), 7.0);
    EXPECT_EQ(asked.starts(0).start_seconds(), 2.5) << "from the placement until it loads";
    EXPECT_EQ(asked.starts(0).runs(), 1);
  }
}

TEST_F(PredictionTest, WhatIsNoJobHasNoEarlierRuns) {
  v1::EarlierRunsRequest request;
  request.add_jobs()->set_job_json("{");
  v1::EarlierRunsResponse response;
  EXPECT_EQ(site_.Call(&Stub::EarlierRuns, request, &response).error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
}

}  // namespace
}  // namespace trainctl::rpc_test
