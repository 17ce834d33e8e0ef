// What the options of a worker let jobs do on its host, with the real programs that look.
#include <gmock/gmock.h>

#include <filesystem>

#include "common/base/file.h"
#include "common/base/file_fence.h"
#include "common/base/saved_folder.h"
#include "common/job/job_json.h"
#include "common/rank/rank_json.h"
#include "tests/agent/agent_fixture.h"
#include "tests/checkout.h"

namespace trainctl::tests {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class AgentRulesTest : public AgentFixture {
 protected:
  AgentRulesTest() {
    options_.inspection_program = checkout::Program("trainworker");
    for (const char* name : {"/anna", "/bob"})
      std::filesystem::create_directory(folder_.path() + name);
    options_.rules.roots.read = {checkout::File("deploy/models"), folder_.path() + "/{user}"};
    options_.rules.roots.write = {folder_.path() + "/{user}"};
    for (const char* name : {"/anna/rows.json", "/bob/rows.json"}) {
      std::filesystem::copy_file(checkout::File("deploy/data/alpaca.json"), folder_.path() + name);
    }
  }

  job::RankPlan PlanOf(const std::string& owner, const std::string& data) const {
    job::RankPlan plan = *job::RankPlanFromJson(Plan("exit 0"));
    plan.owner = owner;
    plan.job.model.path = checkout::File("deploy/models/tiny");
    plan.job.data.path = folder_.path() + data;
    return plan;
  }

  v1::InspectResult Inspect(const job::RankPlan& plan) {
    v1::CoordinatorMessage message;
    message.mutable_inspect()->set_request_id("r1");
    message.mutable_inspect()->set_owner(plan.owner);
    message.mutable_inspect()->set_job_json(job::ToJson(plan.job));
    coordinator_.Send(message);
    coordinator_.Await("the inspection",
                       [](const auto& told) { return !told.inspections.empty(); });
    return coordinator_.told().inspections.back();
  }

  std::string ErrorOfReading(const std::string& path, const std::string& owner) {
    v1::CoordinatorMessage message;
    message.mutable_artifact()->set_request_id("a1");
    message.mutable_artifact()->set_path(path);
    message.mutable_artifact()->set_owner(owner);
    message.mutable_artifact()->set_record(base::ToText(*base::RecordSaved(path)));
    coordinator_.Send(message);
    coordinator_.Await("the piece", [](const auto& told) { return !told.artifacts.empty(); });
    return coordinator_.told().artifacts.back().error();
  }

  std::string Outside(const std::string& path) const {
    return folder_.path() + path + " lies outside of what this job may read here: ";
  }
};

TEST_F(AgentRulesTest, ARankRunsOnWhatItsOwnerMayRead) {
  StartAgent();
  coordinator_.Start(kRank0, job::ToJson(PlanOf("anna", "/anna/rows.json")));
  const job::ReportBody end = coordinator_.AwaitEnd(kRank0);
  ASSERT_TRUE(std::holds_alternative<job::RankExit>(end));
  EXPECT_EQ(std::get<job::RankExit>(end).exit_code, 0);
}

TEST_F(AgentRulesTest, ARankThatWouldReadOutsideIsNotStarted) {
  const auto failure = FailureOf(job::ToJson(PlanOf("anna", "/bob/rows.json")));
  EXPECT_THAT(failure.message, HasSubstr("host testhost: data.path: " + Outside("/bob/rows.json")));
  EXPECT_FALSE(failure.worker_fault) << "another try would end the same";
}

TEST_F(AgentRulesTest, ARankThatWouldWriteOutsideIsNotStarted) {
  job::RankPlan plan = PlanOf("anna", "/anna/rows.json");
  plan.job.output = {.dir = folder_.path() + "/bob/new/out", .save = job::Save::kFinal};
  EXPECT_THAT(FailureOf(job::ToJson(plan)).message,
              AllOf(HasSubstr("output.dir: " + folder_.path() + "/bob/new/out lies outside"),
                    HasSubstr("may write here: " + folder_.path() + "/anna")));
}

TEST_F(AgentRulesTest, ARankThatWouldWriteInTheWorkersOwnFolderIsNotStarted) {
  options_.rules = {};
  job::RankPlan plan = PlanOf("anna", "/anna/rows.json");
  plan.job.output = {.dir = options_.directory + "/ranks", .save = job::Save::kFinal};
  const auto failure = FailureOf(job::ToJson(plan));
  EXPECT_THAT(failure.message,
              AllOf(HasSubstr("output.dir: " + options_.directory + "/ranks lies within "),
                    HasSubstr("a worker's own folder: name another one")));
  EXPECT_FALSE(failure.worker_fault) << "another try would end the same";
}

TEST_F(AgentRulesTest, JobsOfOthersAreNotStarted) {
  options_.rules.owners = {"bob"};
  const auto failure = FailureOf(job::ToJson(PlanOf("anna", "/anna/rows.json")));
  EXPECT_THAT(failure.message, HasSubstr("host testhost: jobs of anna don't run on this host"));
  EXPECT_FALSE(failure.worker_fault);
}

TEST_F(AgentRulesTest, AnInspectionLooksAtWhatTheOwnerMayRead) {
  StartAgent();
  const auto result = Inspect(PlanOf("anna", "/anna/rows.json"));
  EXPECT_EQ(result.error(), "");
  EXPECT_NE(result.inspection_json(), "");
}

TEST_F(AgentRulesTest, AnInspectionRefusesWhatLiesOutside) {
  StartAgent();
  const auto result = Inspect(PlanOf("anna", "/bob/rows.json"));
  EXPECT_THAT(result.error(), HasSubstr("data.path: " + Outside("/bob/rows.json")));
  EXPECT_FALSE(result.unavailable()) << "it is the job's fault";
}

TEST_F(AgentRulesTest, AnInspectionRefusesAnOutputInTheWorkersOwnFolder) {
  options_.rules = {};
  StartAgent();
  job::RankPlan plan = PlanOf("anna", "/anna/rows.json");
  std::filesystem::create_directory_symlink(options_.directory, folder_.path() + "/link");
  plan.job.output = {.dir = folder_.path() + "/link/ranks", .save = job::Save::kFinal};
  const auto result = Inspect(plan);
  EXPECT_THAT(result.error(),
              HasSubstr("output.dir: " + options_.directory + "/ranks lies within"));
  EXPECT_FALSE(result.unavailable()) << "it is the job's fault";
}

// The folder is the owner's, what a link in it leads to is not.
TEST_F(AgentRulesTest, AnInspectionIsKeptFromWhatALinkLeadsTo) {
  if (!base::HasFileFence()) GTEST_SKIP() << "this kernel has no Landlock";
  const std::string model = folder_.path() + "/anna/model";
  std::filesystem::copy(checkout::File("deploy/models/tiny"), model);
  const std::string config = folder_.path() + "/bob/config.json";
  std::filesystem::rename(model + "/config.json", config);
  std::filesystem::create_symlink(config, model + "/config.json");
  StartAgent();
  job::RankPlan plan = PlanOf("anna", "/anna/rows.json");
  plan.job.model.path = model;
  EXPECT_THAT(Inspect(plan).error(), HasSubstr("config.json: Permission denied"));
}

TEST_F(AgentRulesTest, AnInspectionOfAnothersJobIsRefused) {
  options_.rules.owners = {"bob"};
  StartAgent();
  const auto result = Inspect(PlanOf("anna", "/anna/rows.json"));
  EXPECT_THAT(result.error(), HasSubstr("jobs of anna don't run on this host"));
  EXPECT_FALSE(result.unavailable());
}

TEST_F(AgentRulesTest, WhatWasSavedIsReadWhereItsOwnerMayRead) {
  StartAgent();
  EXPECT_EQ(ErrorOfReading(folder_.path() + "/anna/rows.json", "anna"), "");
}

TEST_F(AgentRulesTest, WhatWasSavedOutsideIsNotRead) {
  StartAgent();
  std::filesystem::create_symlink(folder_.path() + "/bob", folder_.path() + "/anna/link");
  EXPECT_THAT(ErrorOfReading(folder_.path() + "/anna/link/rows.json", "anna"),
              AllOf(HasSubstr("lies outside of what this job may read here"),
                    HasSubstr("(in truth " + folder_.path() + "/bob/rows.json)")));
}

}  // namespace
}  // namespace trainctl::tests
