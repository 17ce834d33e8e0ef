// What hangs or is taken away: a mount, a program, a shim, a rank's folder. The worker goes on, and
// each rank has an end.
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include <algorithm>
#include <filesystem>

#include "common/job/job_json.h"
#include "common/rank/rank_json.h"
#include "common/wire/samples.h"
#include "server/core/restore.h"
#include "server/core/step.h"
#include "server/rpc/worker_messages.h"
#include "tests/agent/agent_fixture.h"
#include "tests/shim/mounts.h"
#include "worker/agent/rank_records.h"
#include "worker/shim/process_table.h"

namespace trainctl::tests {
namespace {

using testing::HasSubstr;

class AgentHangTest : public AgentFixture {
 protected:
  // The worker's only thread works: it says more.
  void ExpectHeartbeats() {
    const int64_t before = coordinator_.told().heartbeats;
    coordinator_.Await("heartbeats",
                       [before](const auto& told) { return told.heartbeats > before + 3; });
  }

  shim::ProcessStat Shim() const {
    const auto rank = agent::ReadPidRecord(Folder(kRank0));
    return shim::ReadStat(rank ? rank->session : 0).value_or(shim::ProcessStat());
  }

  // A child of this test's process with that program.
  static shim::ProcessStat AwaitChild(const std::string& program) {
    shim::ProcessStat found;
    AwaitThat(program, [&] {
      for (const shim::ProcessStat& process : shim::Descendants(::getpid())) {
        if (process.name == program) found = process;
      }
      return found.pid != 0;
    });
    return found;
  }
};

TEST_F(AgentHangTest, AHungModelPathHoldsUpItsOwnRankOnly) {
  const TempFolder folder;
  const HungMount mount(folder.path());
  if (!mount.mounted()) GTEST_SKIP() << "no file system can be mounted here";
  StartAgent();
  job::RankPlan plan = *job::RankPlanFromJson(Plan("exit 0"));
  plan.job.model.path = mount.Inside();
  coordinator_.Start(kRank0, job::ToJson(plan));
  ExpectHeartbeats();
  const job::RankKey other{base::JobId{2}, 1, 0};
  coordinator_.Start(other, Plan("exit 3"));
  EXPECT_EQ(std::get<job::RankExit>(coordinator_.AwaitEnd(other)).exit_code, 3);
  coordinator_.Stop(kRank0, 0.05);
  EXPECT_TRUE(std::get<job::RankExit>(coordinator_.AwaitEnd(kRank0)).signal) << "cancel goes on";
}

// A process that is traced by another can't be reaped by its parent before that one lets go. That
// is how a process in an endless system call looks to its parent after SIGKILL.
TEST_F(AgentHangTest, AnInspectionThatCannotBeReapedHoldsUpNobody) {
  options_.inspect_timeout = std::chrono::seconds(5);
  Gate never(folder_.path() + "/never");
  StartAgent();
  v1::CoordinatorMessage ask;
  ask.mutable_inspect()->set_request_id("r1");
  ask.mutable_inspect()->set_job_json(
      job::ToJson(job::RankPlanFromJson(Plan("gate " + never.path()))->job));
  coordinator_.Send(ask);
  const shim::ProcessStat child = AwaitChild("fake_trainrank");
  const pid_t tracer = ::fork();
  if (tracer == 0) {
    ::_exit(::ptrace(PTRACE_SEIZE, child.pid, nullptr, nullptr) == 0 ? ::pause() : 1);
  }
  coordinator_.Await("the inspection", [](const auto& told) { return !told.inspections.empty(); });
  EXPECT_THAT(coordinator_.told().inspections.back().error(), HasSubstr("too long"));
  ExpectHeartbeats();
  ::kill(tracer, SIGKILL);
  int status = 0;
  ::waitpid(tracer, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status)) << "this process may not be traced here";
}

TEST_F(AgentHangTest, AShimThatDoesNotAnswerIsKilledWithItsRank) {
  options_.shim_patience.answer = std::chrono::milliseconds(100);
  StartAgent();
  coordinator_.Start(kRank0, Plan("started here; wait"));
  AwaitStarted(kRank0);
  const auto rank = agent::ReadPidRecord(Folder(kRank0));
  ASSERT_TRUE(shim::Signal(Shim(), SIGSTOP));
  coordinator_.Stop(kRank0, 0.05);
  const auto exit = std::get<job::RankExit>(coordinator_.AwaitEnd(kRank0));
  EXPECT_EQ(exit.signal, SIGKILL);
  EXPECT_THAT(exit.last_log_lines, HasSubstr("did not answer"));
  const auto process = shim::ReadStat(rank->pid);
  EXPECT_TRUE(!process || process->ended());
}

TEST_F(AgentHangTest, AStopIsNotDroppedBehindLinesThatWait) {
  options_.shim_patience.answer = std::chrono::minutes(10);
  StartAgent();
  coordinator_.Start(kRank0, Plan("started here; wait"));
  AwaitStarted(kRank0);
  const shim::ProcessStat shim = Shim();
  ASSERT_TRUE(shim::Signal(shim, SIGSTOP));
  for (int i = 0; i < 80; ++i)
    coordinator_.Peers(kRank0, std::to_string(i) + std::string(100'000, 'a'));
  coordinator_.Stop(kRank0, 0);
  ExpectHeartbeats();
  ASSERT_TRUE(shim::Signal(shim, SIGCONT));
  EXPECT_TRUE(std::get<job::RankExit>(coordinator_.AwaitEnd(kRank0)).signal);
}

// A rank that says started has a command, so the worker is connected with its shim.
TEST_F(AgentHangTest, ARankWhoseFolderIsGoneIsStillStopped) {
  StartAgent();
  coordinator_.Start(kRank0, Plan("command; wait"));
  coordinator_.Peers(kRank0, "ab");
  AwaitStarted(kRank0);
  std::filesystem::remove_all(Folder(kRank0));
  coordinator_.Stop(kRank0, 0);
  EXPECT_TRUE(std::get<job::RankExit>(coordinator_.AwaitEnd(kRank0)).signal);
  coordinator_.Await("the device's word", [](const auto& told) {
    return !told.device_states.empty() && told.device_states.back().free();
  });
}

TEST_F(AgentHangTest, ARankWhoseFolderIsGoneStillTellsItsExitCode) {
  Gate gate(folder_.path() + "/gate");
  StartAgent();
  coordinator_.Start(kRank0, Plan("command; gate " + gate.path() + "; exit 7"));
  coordinator_.Peers(kRank0, "ab");
  AwaitStarted(kRank0);
  std::filesystem::remove_all(Folder(kRank0));
  gate.Open();
  EXPECT_EQ(std::get<job::RankExit>(coordinator_.AwaitEnd(kRank0)).exit_code, 7);
}

TEST_F(AgentHangTest, ARestartedWorkerEndsARankWhoseFolderIsGone) {
  StartAgent();
  coordinator_.Start(kRank0, Plan("started here; wait"));
  AwaitStarted(kRank0);
  const auto rank = agent::ReadPidRecord(Folder(kRank0));
  StopAgent();
  std::filesystem::remove_all(Folder(kRank0));
  StartAgent();
  const auto exit = std::get<job::RankExit>(coordinator_.AwaitEnd(kRank0));
  EXPECT_EQ(exit.signal, SIGKILL);
  EXPECT_THAT(exit.last_log_lines, HasSubstr("shim.lock: No such file"));
  AwaitThat("the rank's end", [&] {
    const auto process = shim::ReadStat(rank->pid);
    return !process || process->ended();
  });
}

TEST_F(AgentHangTest, ALockThatCannotBeMadeIsALaunchFailure) {
  StartAgent();
  coordinator_.Await("hello", [](const auto& told) { return !told.hellos.empty(); });
  std::filesystem::create_directories(Folder(kRank0) + "/shim.lock");
  coordinator_.Start(kRank0, Plan("exit 0"));
  EXPECT_THAT(std::get<job::LaunchFailure>(coordinator_.AwaitEnd(kRank0)).message,
              HasSubstr("shim.lock: Is a directory"));
}

TEST_F(AgentHangTest, AFullDiskMakesTheWorkerUnableUntilThereIsRoom) {
  std::filesystem::create_directories(options_.directory);
  const SmallDisk disk(options_.directory, 2048);
  if (!disk.mounted()) GTEST_SKIP() << "no file system can be mounted here";
  const auto await_word = [this](bool free) {
    coordinator_.Await(free ? "the word free" : "the word not free", [free](const auto& told) {
      return !told.device_states.empty() && told.device_states.back().free() == free;
    });
  };
  StartAgent();
  await_word(true);
  disk.Fill();
  await_word(false);
  EXPECT_THAT(coordinator_.told().device_states.back().reason(), HasSubstr("is full"));
  coordinator_.Start(kRank0, Plan("exit 0"));
  EXPECT_TRUE(std::get<job::LaunchFailure>(coordinator_.AwaitEnd(kRank0)).worker_fault);
  disk.Empty();
  await_word(true);
  StopAgent();
}

// From the shim that can't write, by the worker's heartbeat, to what the scheduler says of the job.
TEST_F(AgentHangTest, AFullDiskUnderARunningRankIsSaidUntilThereIsRoom) {
  std::filesystem::create_directories(options_.directory);
  const SmallDisk disk(options_.directory, 2048);
  if (!disk.mounted()) GTEST_SKIP() << "no file system can be mounted here";
  core::State state = core::Restore({}, {}, {1, 1});
  const auto hear = [&] {
    const v1::Heartbeat heartbeat = coordinator_.told().last_heartbeat;
    core::Step(state, core::HostTroubled{options_.name, wire::FromWire(heartbeat.host()).trouble},
               {2, 2});
    return core::WorkerReason(state, state.workers.at(options_.name));
  };
  const auto await_trouble = [this](bool is_there) {
    const int64_t before = coordinator_.told().heartbeats;
    coordinator_.Await(is_there ? "trouble" : "its end", [&](const auto& told) {
      return told.heartbeats > before + 1 &&
             told.last_heartbeat.host().trouble().empty() != is_there;
    });
  };
  StartAgent();
  coordinator_.Start(kRank0, Plan("started here; wait"));
  AwaitStarted(kRank0);
  core::Step(state, rpc::DecodeHello(coordinator_.told().hellos.back()).value(), {1, 1});
  EXPECT_EQ(hear(), "");
  disk.Fill();
  await_trouble(true);
  EXPECT_EQ(hear(), "no space left on " + options_.directory);
  StopAgent();
  StartAgent();
  await_trouble(true);
  disk.Empty();
  await_trouble(false);
  EXPECT_EQ(hear(), "");
  coordinator_.Stop(kRank0, 0);
  coordinator_.AwaitEnd(kRank0);
  StopAgent();
}

TEST_F(AgentHangTest, AFullDiskAtTheEndDoesNotTurnSuccessIntoASignal) {
  std::filesystem::create_directories(options_.directory);
  const SmallDisk disk(options_.directory, 1024);
  if (!disk.mounted()) GTEST_SKIP() << "no file system can be mounted here";
  Gate gate(folder_.path() + "/gate");
  StartAgent();
  coordinator_.Start(kRank0, Plan("started here; gate " + gate.path() +
                                  "; message {\"type\":\"outcome\",\"outcome\":\"SUCCEEDED\","
                                  "\"message\":\"\"}; exit 0"));
  AwaitStarted(kRank0);
  disk.Fill();
  gate.Open();
  EXPECT_EQ(std::get<job::RankExit>(coordinator_.AwaitEnd(kRank0)).exit_code, 0);
  const auto told = coordinator_.told();
  EXPECT_TRUE(std::ranges::any_of(told.reports.at(kRank0), [](const job::RankReport& report) {
    return std::holds_alternative<job::RankOutcome>(report.body);
  }));
  StopAgent();
}

}  // namespace
}  // namespace trainctl::tests
