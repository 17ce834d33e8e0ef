#include <gmock/gmock.h>

#include <filesystem>

#include "common/base/file.h"
#include "common/estimate/memory_estimate.h"
#include "common/job/job_json.h"
#include "common/rank/rank_json.h"
#include "tests/agent/agent_fixture.h"
#include "tests/checkout.h"
#include "tests/files/safetensors_bytes.h"
#include "worker/agent/inspection.h"

namespace trainctl::tests {
namespace {

using testing::HasSubstr;

class AgentInspectTest : public AgentFixture {
 protected:
  v1::InspectResult Ask(const std::string& job_json) {
    v1::CoordinatorMessage message;
    message.mutable_inspect()->set_request_id("r1");
    message.mutable_inspect()->set_job_json(job_json);
    coordinator_.Send(message);
    coordinator_.Await("the inspection",
                       [](const auto& told) { return !told.inspections.empty(); });
    return coordinator_.told().inspections.back();
  }

  static std::string TinyJob(const std::string& data,
                             const std::string& model = checkout::File("deploy/models/tiny")) {
    job::JobSpec job = job::RankPlanFromJson(Plan("exit 0"))->job;
    job.model.path = model;
    job.data.path = checkout::File(data);
    return job::ToJson(job);
  }

  static std::string Job(const std::string& script) {
    return job::ToJson(job::RankPlanFromJson(Plan(script))->job);
  }
};

TEST_F(AgentInspectTest, AnswersWhatTheProgramPrints) {
  StartAgent();
  const auto result = Ask(Job("print {\"rows\": 3}; exit 0"));
  EXPECT_EQ(result.request_id(), "r1");
  EXPECT_EQ(result.inspection_json(), "{\"rows\": 3}\n");
  EXPECT_EQ(result.error(), "");
}

// The real program's answers, decoded as the coordinator does.
TEST_F(AgentInspectTest, TheRealProgramSaysWhatModelAndDataHold) {
  options_.inspection_program = checkout::Program("trainworker");
  StartAgent();
  const auto result = Ask(TinyJob("deploy/data/alpaca.json"));
  EXPECT_EQ(result.error(), "");
  const auto inspection = job::InspectionFromJson(result.inspection_json());
  ASSERT_TRUE(inspection) << inspection.error().message;
  EXPECT_EQ(inspection->model.layers, 4);
  EXPECT_GT(inspection->rows, 0);
}

TEST_F(AgentInspectTest, TheRealProgramTellsTheJobsFault) {
  options_.inspection_program = checkout::Program("trainworker");
  StartAgent();
  const auto result = Ask(TinyJob("deploy/data/missing.json"));
  EXPECT_THAT(result.error(), HasSubstr("deploy/data/missing.json"));
  EXPECT_FALSE(result.unavailable());
}

// By the headers of shards that an index names: no rank has to start for it.
TEST_F(AgentInspectTest, TheRealProgramTellsWhichWeightDoesNotFit) {
  options_.inspection_program = checkout::Program("trainworker");
  StartAgent();
  const std::string model = folder_.path() + "/model";
  std::filesystem::create_directory(model);
  std::filesystem::copy_file(checkout::File("deploy/models/tiny/config.json"),
                             model + "/config.json");
  const std::string shard = files::SafetensorsBytes(
      R"({"model.norm.weight": {"dtype": "F32", "shape": [3], "data_offsets": [0, 12]}})",
      std::string(12, '\0'));
  ASSERT_TRUE(base::WriteFileAtomically(model + "/one.safetensors", shard).ok());
  ASSERT_TRUE(
      base::WriteFileAtomically(model + "/model.safetensors.index.json",
                                R"({"weight_map": {"model.norm.weight": "one.safetensors"}})")
          .ok());
  const auto result = Ask(TinyJob("deploy/data/alpaca.json", model));
  EXPECT_EQ(result.error(), "model.path: " + model +
                                "/one.safetensors: weight model.norm.weight has shape [3]: "
                                "config.json makes it [64]");
  EXPECT_FALSE(result.unavailable());
}

TEST_F(AgentInspectTest, TellsTheJobsFault) {
  StartAgent();
  const auto result = Ask("not a job");
  EXPECT_THAT(result.error(), HasSubstr("JSON"));
  EXPECT_FALSE(result.unavailable());
  EXPECT_EQ(result.inspection_json(), "");
}

TEST_F(AgentInspectTest, TellsThatTheProgramCrashed) {
  StartAgent();
  const auto result = Ask(Job("signal 11"));
  EXPECT_THAT(result.error(), HasSubstr("signal 11"));
  EXPECT_TRUE(result.unavailable());
}

TEST_F(AgentInspectTest, EndsAProgramThatTakesTooLong) {
  options_.inspect_timeout = std::chrono::milliseconds(50);
  StartAgent();
  EXPECT_THAT(Ask(Job("ignore-term; wait")).error(), HasSubstr("too long"));
}

TEST_F(AgentInspectTest, OneThatTookTooLongTellsWhatItDid) {
  options_.inspect_timeout = std::chrono::seconds(2);
  StartAgent();
  EXPECT_THAT(Ask(Job("complain note: waits for j77; ignore-term; wait")).error(),
              testing::EndsWith("too long and was ended: waits for j77"));
}

TEST_F(AgentInspectTest, WhatItDidIsNotTheJobsFault) {
  StartAgent();
  EXPECT_EQ(Ask(Job("complain note: waits for j77; complain no rows; exit 2")).error(), "no rows");
}

TEST_F(AgentInspectTest, OnesThatHangLeaveRoomForOtherOwners) {
  StartAgent();
  const auto send = [&](const std::string& id, const std::string& owner, const std::string& job) {
    v1::CoordinatorMessage message;
    message.mutable_inspect()->set_request_id(id);
    message.mutable_inspect()->set_owner(owner);
    message.mutable_inspect()->set_job_json(job);
    coordinator_.Send(message);
  };
  for (size_t i = 0; i < agent::Inspections::kMaxRunningOfOwner; ++i)
    send("hung", "anna", Job("ignore-term; wait"));
  send("more", "anna", Job("print {}; exit 0"));
  send("other", "bob", Job("print {}; exit 0"));
  coordinator_.Await("two answers", [](const auto& told) { return told.inspections.size() == 2; });
  const auto told = coordinator_.told().inspections;
  EXPECT_EQ(told[0].request_id(), "more");
  EXPECT_THAT(told[0].error(), HasSubstr("other inspections of anna"));
  EXPECT_EQ(told[1].inspection_json(), "{}\n") << told[1].error();
}

TEST_F(AgentInspectTest, TellsThatThereIsNoProgram) {
  options_.inspection_program = "/no/such/trainworker";
  StartAgent();
  EXPECT_THAT(Ask(Job("exit 0")).error(), HasSubstr("/no/such/trainworker"));
}

TEST_F(AgentInspectTest, WorksWhileARankRuns) {
  StartAgent();
  coordinator_.Start(kRank0, Plan("started here; wait"));
  AwaitReports(kRank0, 1);
  EXPECT_EQ(Ask(Job("print {}; exit 0")).inspection_json(), "{}\n");
}

}  // namespace
}  // namespace trainctl::tests
