// A job that is inspected late is told what submit tells of one that is inspected at once: what
// trainctl sends of the one, and what the coordinator makes of the other.
#include <gtest/gtest.h>

#include <future>
#include <nlohmann/json.hpp>
#include <string>

#include "client/exit_code.h"
#include "common/base/file.h"
#include "common/estimate/prediction.h"
#include "common/job/job_json.h"
#include "common/rank/rank_json.h"
#include "tests/job/tiny_llama.h"
#include "tests/rpc/fake_worker.h"
#include "tests/rpc/temporary_folder.h"
#include "tests/rpc/trainctl_site.h"

namespace trainctl::rpc_test {
namespace {

// But for whose word the time is: of a device without rates that is the client's, or our own.
nlohmann::json WithoutWhoSaysIt(const std::string& prediction) {
  nlohmann::json json = nlohmann::json::parse(prediction);
  json["time"].erase("claimed");
  return json;
}

class LateInspectionTest : public testing::Test {
 protected:
  LateInspectionTest() {
    inspection_.model.layers = 1;  // a CPU slot has room for it
    inspection_.rows = 1000;
    worker_.Connect(site_.channel());
  }

  // Returns the job that was asked about.
  job::JobSpec AnswerInspection() {
    const v1::CoordinatorMessage asked = worker_.Next(v1::CoordinatorMessage::kInspect);
    v1::WorkerMessage answer;
    answer.mutable_inspect_result()->set_request_id(asked.inspect().request_id());
    answer.mutable_inspect_result()->set_inspection_json(job::ToJson(inspection_));
    worker_.Send(answer);
    return job::FromJson(asked.inspect().job_json()).value();
  }
  Ended Submit() { return Trainctl(site_, {"submit", path_}); }
  void SubmitInspected() {
    auto ended = std::async(std::launch::async, [this] { return Submit(); });
    AnswerInspection();
    const Ended said = ended.get();
    EXPECT_EQ(said.code, client::kExitOk) << said.err;
  }
  void Write(const job::JobSpec& spec) {
    ASSERT_TRUE(base::WriteFileAtomically(path_, job::ToJson(spec)).ok());
  }

  // A run of the job's shape, with all that is learned from one.
  void RunOnce() {
    const job::RankKey rank = worker_.Start();
    worker_.BeginTraining(rank);
    const std::string id = base::ToString(rank.job);
    const base::WallMicros placed = site_.Get(id).attempts(0).started_at();
    std::vector<job::MetricPoint> points = {
        {"load_seconds", 0, 0, std::nullopt, 7.0, placed + 9'500'000}};
    for (const int64_t step : {0, 1, 2})
      points.push_back({"step_seconds", step, std::nullopt, std::nullopt, 2.0, placed});
    worker_.Report(rank, job::RankMetrics{points});
    worker_.Succeed(rank);
    site_.WaitForState(id, "FINISHED");
  }

  const TemporaryFolder folder_;
  const std::string path_ = folder_.path() + "/job.json";
  job::Inspection inspection_ = job::tiny_llama::TinyLlama();
  TestSite site_;
  FakeWorker worker_{"a/0"};
};

TEST_F(LateInspectionTest, TellsWhatSubmitTellsWithEarlierRuns) {
  Write(SmallJob("tiny", 1));
  SubmitInspected();
  RunOnce();
  SubmitInspected();
  const std::string early = site_.Get("j2").prediction_json();
  worker_.Disconnect();
  EXPECT_EQ(Submit().code, client::kExitOk);
  EXPECT_EQ(site_.Get("j3").prediction_json(), "");
  worker_.Connect(site_.channel());
  AnswerInspection();
  site_.WaitFor("j3",
                [&](const v1::JobView&) { return !site_.Get("j3").prediction_json().empty(); });
  EXPECT_EQ(WithoutWhoSaysIt(site_.Get("j3").prediction_json()), WithoutWhoSaysIt(early));
  const auto time = job::PredictionFromJson(early).value().time;
  ASSERT_TRUE(time);
  EXPECT_EQ(time->earlier_runs, 1);
  EXPECT_EQ(time->start_seconds, 2.5);
}

TEST_F(LateInspectionTest, RefusesWhatGoesOnFromARunThatHasNothingLeft) {
  job::JobSpec spec = SmallJob("tiny", 1);
  Write(spec);
  SubmitInspected();
  const job::RankKey rank = worker_.Start();
  worker_.BeginTraining(rank);
  worker_.Report(rank, job::RankProgress{.step = 1'000'000, .steps = 1'000'000});
  worker_.Succeed(rank);
  site_.WaitForState("j1", "FINISHED");
  worker_.Disconnect();
  spec.train.epochs = 2;  // of how many rows is not known yet
  spec.checkpoint.resume_job = "j1";
  spec.checkpoint.resume_from = "/out/checkpoints";
  Write(spec);
  const Ended said = Submit();
  EXPECT_EQ(said.code, client::kExitOk) << said.err;
  worker_.Connect(site_.channel());
  AnswerInspection();
  site_.WaitForState("j2", "FINISHED");
  const v1::JobView job = site_.Get("j2").view();
  EXPECT_EQ(job.outcome(), "LAUNCH_FAILED");
  EXPECT_NE(job.message().find("tiny (j1) has made all its 1000000 steps"), std::string::npos)
      << job.message();
}

// Workers of 0.1.0 refuse a job whose priority is not a number.
TEST_F(LateInspectionTest, AsksWithThePriorityThatTheJobLeavesUnsaid) {
  job::JobSpec spec = SmallJob("tiny", 1);
  spec.resources.priority.reset();
  Write(spec);
  worker_.Disconnect();
  EXPECT_EQ(Submit().code, client::kExitOk);
  worker_.Connect(site_.channel());
  EXPECT_EQ(AnswerInspection().resources.priority, job::kDefaultPriority);
}

}  // namespace
}  // namespace trainctl::rpc_test
