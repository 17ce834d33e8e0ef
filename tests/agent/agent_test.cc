// One life of a worker: it does what it is told, and reports what is.
#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "common/base/boot_id.h"
#include "common/base/file.h"
#include "common/rank/rank_json.h"
#include "tests/agent/agent_fixture.h"
#include "worker/shim/process_table.h"

namespace trainctl::tests {
namespace {

using testing::HasSubstr;

class AgentTest : public AgentFixture {};

// What the rank said, in order; metrics, which come from the worker's samples too, left out.
std::vector<std::string> OwnMessages(const std::vector<job::RankReport>& reports) {
  std::vector<std::string> names;
  for (const job::RankReport& report : reports) {
    if (std::holds_alternative<job::RankStarted>(report.body)) names.push_back("started");
    if (std::holds_alternative<job::RankProgress>(report.body)) names.push_back("progress");
    if (std::holds_alternative<job::RankOutcome>(report.body)) names.push_back("outcome");
    if (std::holds_alternative<job::RankExit>(report.body)) names.push_back("exit");
    if (std::holds_alternative<job::UnreadableMessage>(report.body)) names.push_back("unreadable");
  }
  return names;
}

TEST_F(AgentTest, SaysHelloWithItsDevice) {
  options_.labels = {{"rack", "r1"}};
  StartAgent();
  coordinator_.Await("hello", [](const auto& told) { return !told.hellos.empty(); });
  const v1::Hello hello = coordinator_.told().hellos[0];
  EXPECT_EQ(hello.name(), "testhost/0");
  EXPECT_EQ(hello.host(), "testhost");
  EXPECT_EQ(hello.boot_id(), base::BootId());
  EXPECT_EQ(hello.address(), "127.0.0.1") << "by which this host reaches the coordinator";
  EXPECT_TRUE(hello.device_free());
  EXPECT_EQ(hello.held_size(), 0);
  EXPECT_EQ(hello.device().kind(), "cpu");
  EXPECT_EQ(hello.device().uuid(), "cpu:testhost:0");
  EXPECT_EQ(hello.device().name(), "CPU slot (2 threads)");
  EXPECT_EQ(hello.device().memory_bytes(), int64_t{8} << 30);
  ASSERT_EQ(hello.device().labels_size(), 1);
  EXPECT_EQ(hello.device().labels().at("rack"), "r1");
  EXPECT_GT(hello.device().host_memory_bytes(), 0);
}

TEST_F(AgentTest, SendsHeartbeatsWithTheHostsSample) {
  StartAgent();
  coordinator_.Await("heartbeats", [](const auto& told) { return told.heartbeats >= 3; });
  EXPECT_GT(coordinator_.told().last_heartbeat.host().memory_total_bytes(), 0);
  EXPECT_GT(coordinator_.told().last_heartbeat.host().memory_used_bytes(), 0);
}

TEST_F(AgentTest, RelaysARankFromItsStartToItsRelease) {
  StartAgent();
  coordinator_.Start(
      kRank0,
      Plan("started c; train 0 3; print done; "
           "message {\"type\":\"outcome\",\"outcome\":\"SUCCEEDED\",\"message\":\"\"}; exit 0"));
  const auto exit = std::get<job::RankExit>(coordinator_.AwaitEnd(kRank0));
  EXPECT_EQ(exit.exit_code, 0);
  EXPECT_EQ(exit.last_log_lines, "done\n");
  const auto told = coordinator_.told();
  EXPECT_THAT(told.faults, testing::IsEmpty());
  EXPECT_THAT(
      OwnMessages(told.reports.at(kRank0)),
      testing::ElementsAre("started", "progress", "progress", "progress", "outcome", "exit"));
  EXPECT_EQ(Metric(kRank0, "loss"), (std::map<int64_t, double>{{0, 0}, {1, 1}, {2, 2}}));
  EXPECT_EQ(told.logs.at(kRank0), "done\n");

  coordinator_.Await("the device's word",
                     [](const auto& now) { return !now.device_states.empty(); });
  EXPECT_TRUE(coordinator_.told().device_states.back().free());
  coordinator_.Release(kRank0);
  AwaitNoFolder(kRank0);
}

TEST_F(AgentTest, CompletesThePlanForThisHost) {
  StartAgent();
  coordinator_.Start(kRank0, Plan("exit 0"));
  coordinator_.AwaitEnd(kRank0);
  const auto plan = job::RankPlanFromJson(*base::ReadFile(Folder(kRank0) + "/plan.json", 1 << 20));
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->bind_address, "127.0.0.1");
  EXPECT_EQ(plan->directory, Folder(kRank0) + "/scratch");
  EXPECT_TRUE(std::filesystem::is_directory(plan->directory));
}

TEST_F(AgentTest, ADataInterfaceReplacesTheAddress) {
  options_.data_interface = "10.1.2.3";
  StartAgent();
  coordinator_.Start(kRank0, Plan("exit 0"));
  coordinator_.AwaitEnd(kRank0);
  EXPECT_EQ(coordinator_.told().hellos[0].address(), "10.1.2.3");
  EXPECT_EQ(
      job::RankPlanFromJson(*base::ReadFile(Folder(kRank0) + "/plan.json", 1 << 20))->bind_address,
      "10.1.2.3");
}

TEST_F(AgentTest, NcclIsToldTheDataInterface) {
  options_.data_interface = "127.0.0.1";
  StartAgent();
  coordinator_.Start(kRank0, Plan("environment NCCL_SOCKET_IFNAME; exit 0"));
  coordinator_.AwaitEnd(kRank0);
  EXPECT_EQ(coordinator_.told().logs[kRank0], "=lo\n");
}

TEST_F(AgentTest, StartsARankOnlyOnceHoweverOftenItIsTold) {
  StartAgent();
  for (int i = 0; i < 3; ++i) coordinator_.Start(kRank0, Plan("started here; command; exit 0"));
  AwaitReports(kRank0, 1);
  coordinator_.Start(kRank0, Plan("exit 9"));
  coordinator_.Peers(kRank0, "ab");
  EXPECT_EQ(std::get<job::RankExit>(coordinator_.AwaitEnd(kRank0)).exit_code, 0);
  coordinator_.Start(kRank0, Plan("exit 9"));
  coordinator_.Release(kRank0);
  AwaitNoFolder(kRank0);
}

TEST_F(AgentTest, BringsTheRankItsPeersOnce) {
  StartAgent();
  coordinator_.Start(kRank0, Plan("command; command; exit 0"));
  coordinator_.Peers(kRank0, "abcd");
  coordinator_.Peers(kRank0, "abcd");
  coordinator_.Peers(kRank0, "ef");
  coordinator_.AwaitEnd(kRank0);
  std::vector<std::string> commands;
  const auto told = coordinator_.told();
  for (const auto& report : told.reports.at(kRank0)) {
    if (const auto* started = std::get_if<job::RankStarted>(&report.body))
      commands.push_back(started->commit);
  }
  EXPECT_THAT(commands, testing::ElementsAre(HasSubstr("61626364"), HasSubstr("6566")))
      << "the blobs, as hex of the lines";
}

TEST_F(AgentTest, StopsARankThatDoesNotWantTo) {
  StartAgent();
  coordinator_.Start(kRank0, Plan("ignore-term; started here; wait"));
  AwaitStarted(kRank0);
  coordinator_.Stop(kRank0, 0.05);
  const auto exit = std::get<job::RankExit>(coordinator_.AwaitEnd(kRank0));
  EXPECT_EQ(exit.signal, 9);
  EXPECT_EQ(exit.exit_code, std::nullopt);
}

TEST_F(AgentTest, AMissingRankProgramIsALaunchFailure) {
  options_.rank_program = "/no/such/trainrank";
  const job::LaunchFailure failure = FailureOf(Plan("exit 0"));
  EXPECT_THAT(failure.message, HasSubstr("/no/such/trainrank"));
  EXPECT_TRUE(failure.worker_fault);
  coordinator_.Await("the device's word", [](const auto& told) {
    return !told.device_states.empty() && told.device_states.back().free();
  });
}

TEST_F(AgentTest, AShimIsReapedBeforeItsRankIsReleased) {
  StartAgent();
  coordinator_.Start(kRank0, Plan("exit 0"));
  coordinator_.AwaitEnd(kRank0);
  AwaitThat("the shim to be reaped", [] {
    return std::ranges::none_of(shim::Descendants(::getpid()),
                                [](const auto& process) { return process.name == "trainshim"; });
  });
  EXPECT_TRUE(std::filesystem::exists(Folder(kRank0)));
}

TEST_F(AgentTest, AMissingModelIsALaunchFailureThatNamesHostAndPath) {
  job::RankPlan plan = *job::RankPlanFromJson(Plan("exit 0"));
  plan.job.model.path = "/no/such/model";
  const job::LaunchFailure failure = FailureOf(job::ToJson(plan));
  EXPECT_THAT(failure.message, testing::AllOf(HasSubstr("testhost"), HasSubstr("/no/such/model"),
                                              HasSubstr("model.path")));
  EXPECT_FALSE(failure.worker_fault) << "another worker has no such model either";
}

TEST_F(AgentTest, MissingValidationDataAreALaunchFailureSinceAnotherHostMayHaveThem) {
  job::RankPlan plan = *job::RankPlanFromJson(Plan("exit 0"));
  plan.job.data.val_path = "/no/such/rows";
  const job::LaunchFailure failure = FailureOf(job::ToJson(plan));
  EXPECT_THAT(failure.message,
              testing::AllOf(HasSubstr("/no/such/rows"), HasSubstr("data.val_path")));
  EXPECT_FALSE(failure.worker_fault);
}

TEST_F(AgentTest, AJobThatDoesNotTrainNeedsNoData) {
  job::RankPlan plan = *job::RankPlanFromJson(Plan("exit 0"));
  plan.job.train.max_steps = 0;
  plan.job.data.path = "/no/such/rows";
  plan.job.data.val_path = "/no/such/rows";
  StartAgent();
  coordinator_.Start(kRank0, job::ToJson(plan));
  EXPECT_EQ(std::get<job::RankExit>(coordinator_.AwaitEnd(kRank0)).exit_code, 0);
}

TEST_F(AgentTest, AMissingPictureIsALaunchFailureSinceAnotherHostMayHaveIt) {
  job::RankPlan plan = *job::RankPlanFromJson(Plan("exit 0"));
  plan.job.train.max_steps = 0;
  plan.job.eval.images = {plan.job.model.path, "/no/such/cat.jpg"};
  const job::LaunchFailure failure = FailureOf(job::ToJson(plan));
  EXPECT_THAT(failure.message,
              testing::AllOf(HasSubstr("/no/such/cat.jpg"), HasSubstr("eval.images[1]")));
  EXPECT_FALSE(failure.worker_fault);
}

TEST_F(AgentTest, AMissingShimProgramIsALaunchFailure) {
  options_.shim_program = "/no/such/trainshim";
  StartAgent();
  coordinator_.Start(kRank0, Plan("exit 0"));
  EXPECT_THAT(std::get<job::LaunchFailure>(coordinator_.AwaitEnd(kRank0)).message,
              HasSubstr("/no/such/trainshim"));
}

TEST_F(AgentTest, AShimThatCannotRunIsALaunchFailureWithItsWords) {
  options_.shim_arguments = {"--wrong", "option"};
  const job::LaunchFailure failure = FailureOf(Plan("exit 0"));
  EXPECT_THAT(failure.message, HasSubstr("unknown option --wrong"));
  EXPECT_TRUE(failure.worker_fault);
}

TEST_F(AgentTest, AFolderThatCannotBeMadeIsALaunchFailure) {
  StartAgent();
  coordinator_.Await("hello", [](const auto& told) { return !told.hellos.empty(); });
  const std::string ranks = options_.directory + "/ranks";
  AwaitThat("its place, which the worker fills too", [&] {
    std::filesystem::remove_all(ranks);
    return base::WriteFileAtomically(ranks, "in the way").ok();
  });
  coordinator_.Start(kRank0, Plan("exit 0"));
  const auto failure = std::get<job::LaunchFailure>(coordinator_.AwaitEnd(kRank0));
  EXPECT_THAT(failure.message, HasSubstr("cannot make the rank's folder"));
  EXPECT_TRUE(failure.worker_fault);
}

TEST_F(AgentTest, AFolderOfRanksThatSomebodyRemovedIsMadeAgain) {
  StartAgent();
  coordinator_.Await("hello", [](const auto& told) { return !told.hellos.empty(); });
  std::filesystem::remove_all(options_.directory + "/ranks");
  AwaitThat("it is back", [&] { return std::filesystem::exists(options_.directory + "/ranks"); });
}

TEST_F(AgentTest, APlanThatCannotBeReadIsALaunchFailure) {
  const job::LaunchFailure failure = FailureOf("{}");
  EXPECT_THAT(failure.message, HasSubstr("plan can't be read"));
  EXPECT_FALSE(failure.worker_fault);
}

TEST_F(AgentTest, RelaysALongLogWhole) {
  StartAgent();
  coordinator_.Start(kRank0, Plan("flood 9000000; exit 3"));
  EXPECT_EQ(std::get<job::RankExit>(coordinator_.AwaitEnd(kRank0)).exit_code, 3);
  coordinator_.Await("the whole log",
                     [](const auto& told) { return told.logs.at(kRank0).size() == 9'000'000; });
  EXPECT_THAT(coordinator_.told().faults, testing::IsEmpty());
  EXPECT_TRUE(coordinator_.told().logs.at(kRank0).starts_with("line 0\nline 1\n"));
}

TEST_F(AgentTest, SamplesWhatTheRankAndTheHostUse) {
  StartAgent();
  coordinator_.Start(kRank0, Plan("train 0 5; wait"));
  while (!Metric(kRank0, "rank_cpu_percent").contains(4)) {
    const size_t count = coordinator_.told().reports[kRank0].size();
    AwaitReports(kRank0, count + 1);
  }
  EXPECT_GT(Metric(kRank0, "rank_memory_used_bytes")[4], 0) << "at the rank's last step";
  EXPECT_TRUE(Metric(kRank0, "rank_cpu_percent").contains(4));
  EXPECT_TRUE(Metric(kRank0, "host_cpu_percent").contains(4));
  EXPECT_GT(Metric(kRank0, "host_memory_used_bytes")[4], 0);
  EXPECT_FALSE(Metric(kRank0, "gpu_power_watts").contains(4)) << "a CPU slot has no GPU";
  EXPECT_GT(coordinator_.told().last_heartbeat.device().memory_used_bytes(), 0)
      << "a slot is used as its rank uses it";
}

TEST_F(AgentTest, PassesOnAMessageThatIsNone) {
  StartAgent();
  coordinator_.Start(kRank0, Plan("message rubbish; started after; exit 0"));
  coordinator_.AwaitEnd(kRank0);
  EXPECT_THAT(coordinator_.told().faults, testing::IsEmpty()) << "the numbers have no gap";
  EXPECT_THAT(OwnMessages(coordinator_.told().reports[kRank0]),
              testing::ElementsAre("unreadable", "started", "exit"));
}

TEST_F(AgentTest, GivesTheRankItsEnvironmentWithoutGpus) {
  StartAgent();
  coordinator_.Start(kRank0,
                     Plan("environment AGENT_TEST; environment CUDA_VISIBLE_DEVICES; exit 0"));
  coordinator_.AwaitEnd(kRank0);
  EXPECT_EQ(coordinator_.told().logs[kRank0], "passed on\n\n");
}

TEST_F(AgentTest, HoldsSeveralRanksOneAfterTheOther) {
  const job::RankKey second{base::JobId{2}, 3, 1};
  StartAgent();
  coordinator_.Start(kRank0, Plan("exit 1"));
  coordinator_.AwaitEnd(kRank0);
  coordinator_.Start(second, Plan("exit 2"));
  EXPECT_EQ(std::get<job::RankExit>(coordinator_.AwaitEnd(second)).exit_code, 2);
  coordinator_.Release(kRank0);
  AwaitNoFolder(kRank0);
  EXPECT_TRUE(std::filesystem::exists(Folder(second)));
}

}  // namespace
}  // namespace trainctl::tests
