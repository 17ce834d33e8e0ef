// Several lives: worker and coordinator go and come back under a running rank.
#include <gmock/gmock.h>
#include <signal.h>

#include <atomic>
#include <future>
#include <utility>
#include <vector>

#include "server/rpc/worker_messages.h"
#include "tests/agent/agent_fixture.h"
#include "tests/agent/silent_proxy.h"
#include "worker/agent/rank_records.h"
#include "worker/shim/process_table.h"

namespace trainctl::tests {
namespace {

using testing::IsEmpty;

class AgentRestartTest : public AgentFixture {
 protected:
  // Every step's loss arrived once, in order, without a fault.
  void ExpectLossOfSteps(int64_t steps) {
    EXPECT_THAT(coordinator_.told().faults, IsEmpty());
    const auto loss = Metric(kRank0, "loss");
    ASSERT_EQ(loss.size(), static_cast<size_t>(steps));
    for (const auto& [step, value] : loss) EXPECT_EQ(value, static_cast<double>(step));
  }
};

TEST_F(AgentRestartTest, ARestartedWorkerTakesItsRankUpAgain) {
  StartAgent();
  coordinator_.Start(kRank0,
                     Plan("train 0 50; print one; command; train 50 100; print two; exit 0"));
  AwaitReports(kRank0, 60);
  const auto before = agent::ReadPidRecord(Folder(kRank0));
  StopAgent();
  StartAgent();
  coordinator_.Await("the second hello", [](const auto& told) { return told.hellos.size() >= 2; });
  const v1::Hello hello = coordinator_.told().hellos[1];
  ASSERT_EQ(hello.held_size(), 1);
  EXPECT_EQ(hello.held(0).job(), "j1");
  EXPECT_EQ(hello.held(0).site(), "testsite");
  EXPECT_EQ(hello.device_reason(), "a rank runs on it");
  EXPECT_EQ(hello.identity(), coordinator_.told().hellos[0].identity());
  EXPECT_TRUE(hello.held(0).running());
  EXPECT_FALSE(hello.device_free());
  EXPECT_EQ(agent::ReadPidRecord(Folder(kRank0))->pid, before->pid);
  coordinator_.Peers(kRank0, "ab");
  EXPECT_EQ(std::get<job::RankExit>(coordinator_.AwaitEnd(kRank0)).exit_code, 0);
  ExpectLossOfSteps(100);
  EXPECT_EQ(coordinator_.told().logs[kRank0], "one\ntwo\n");
}

TEST_F(AgentRestartTest, ARefusalThatPassesIsNoReasonToEnd) {
  std::atomic<int> refused = 0;
  options_.on_refused = [&](const std::string&) { ++refused; };
  coordinator_.Refuse("another worker has this name");
  StartAgent();
  coordinator_.Await("two hellos", [](const auto& told) { return told.hellos.size() >= 2; });
  coordinator_.Refuse("");
  coordinator_.Start(kRank0, Plan("exit 3"));
  EXPECT_EQ(std::get<job::RankExit>(coordinator_.AwaitEnd(kRank0)).exit_code, 3);
  EXPECT_EQ(refused, 0);
  const std::vector<v1::Hello> hellos = coordinator_.told().hellos;
  for (size_t i = 0; i < hellos.size(); ++i)
    EXPECT_EQ(rpc::DecodeHello(hellos[i]).value().stream, static_cast<int64_t>(i) + 1);
}

TEST_F(AgentRestartTest, ARefusalThatLastsIsSaid) {
  std::promise<std::string> said;
  options_.refusal_patience = std::chrono::milliseconds(50);
  options_.on_refused = [&, once = false](const std::string& why) mutable {
    if (!std::exchange(once, true)) said.set_value(why);
  };
  coordinator_.Refuse("another worker has this name");
  StartAgent();
  EXPECT_EQ(said.get_future().get(),
            "the coordinator refuses this worker: another worker has this name");
  StopAgent();
}

TEST_F(AgentRestartTest, AConnectionThatDiedWithoutAWordIsReplaced) {
  SilentProxy network(coordinator_.address());
  options_.uplink.coordinator_file.clear();
  options_.uplink.coordinator = network.address();
  options_.uplink.keep_alive = {std::chrono::milliseconds(1000), std::chrono::seconds(2)};
  StartAgent();
  coordinator_.Start(kRank0, Plan("started c; train 0 5; command; train 5 10; exit 0"));
  AwaitStarted(kRank0);
  network.FallSilent();
  coordinator_.Await("the second hello", [](const auto& told) { return told.hellos.size() >= 2; });
  const v1::Hello hello = coordinator_.told().hellos.back();
  ASSERT_EQ(hello.held_size(), 1);
  EXPECT_TRUE(hello.held(0).running());
  coordinator_.Peers(kRank0, "ab");
  EXPECT_EQ(std::get<job::RankExit>(coordinator_.AwaitEnd(kRank0)).exit_code, 0);
  ExpectLossOfSteps(10);
}

TEST_F(AgentRestartTest, ARankThatEndedMeanwhileIsReportedWhole) {
  Gate gate(folder_.path() + "/gate");
  StartAgent();
  coordinator_.Start(kRank0, Plan("train 0 5; gate " + gate.path() + "; train 5 40; exit 4"));
  AwaitReports(kRank0, 10);
  const auto rank = *shim::ReadStat(agent::ReadPidRecord(Folder(kRank0))->pid);
  StopAgent();
  gate.Open();
  AwaitExitRecord(kRank0);
  StartAgent();
  EXPECT_EQ(std::get<job::RankExit>(coordinator_.AwaitEnd(kRank0)).exit_code, 4);
  ExpectLossOfSteps(40);
  EXPECT_FALSE(shim::ReadStat(rank.pid)) << "nothing of it is left";
  coordinator_.Await("the device's word", [](const auto& told) {
    return !told.device_states.empty() && told.device_states.back().free();
  });
}

TEST_F(AgentRestartTest, ACoordinatorThatWasAwayGetsEverythingOnce) {
  Gate gate(folder_.path() + "/gate");
  StartAgent();
  coordinator_.Start(
      kRank0, Plan("train 0 20; gate " + gate.path() + "; train 20 300; print after; exit 0"));
  AwaitReports(kRank0, 40);
  coordinator_.GoAway();
  gate.Open();
  AwaitExitRecord(kRank0);
  coordinator_.ComeBack();
  AnnounceCoordinator();
  EXPECT_EQ(std::get<job::RankExit>(coordinator_.AwaitEnd(kRank0)).exit_code, 0);
  ExpectLossOfSteps(300);
  EXPECT_EQ(coordinator_.told().logs[kRank0], "after\n");
}

TEST_F(AgentRestartTest, WhatWasNotAcknowledgedIsHeldBackAndSentAgain) {
  coordinator_.WithholdAcks();
  StartAgent();
  coordinator_.Start(kRank0, Plan("train 0 1000; exit 0"));
  AwaitReports(kRank0, static_cast<size_t>(agent::Relay::kMessageWindow));
  StopAgent();
  const auto window = static_cast<size_t>(agent::Relay::kMessageWindow);
  EXPECT_EQ(coordinator_.told().reports[kRank0].size(), window) << "it bounds what is under way";
  EXPECT_THAT(coordinator_.told().faults, IsEmpty());
}

TEST_F(AgentRestartTest, AKilledShimIsAnEndByASignal) {
  StartAgent();
  coordinator_.Start(kRank0, Plan("print last words; started here; wait"));
  AwaitStarted(kRank0);
  const auto rank = *agent::ReadPidRecord(Folder(kRank0));
  ::kill(rank.session, SIGKILL);
  const auto exit = std::get<job::RankExit>(coordinator_.AwaitEnd(kRank0));
  EXPECT_EQ(exit.signal, SIGKILL);
  EXPECT_EQ(exit.last_log_lines,
            "last words\n[trainworker: trainshim was killed, and its rank with it]\n");
  const auto left = shim::ReadStat(rank.pid);
  EXPECT_TRUE(!left || left->ended());
}

TEST_F(AgentRestartTest, AShimThatWasKilledWhileTheWorkerWasAwayIsProvenGone) {
  StartAgent();
  coordinator_.Start(kRank0, Plan("grandchild; wait"));
  AwaitReports(kRank0, 1);
  const auto rank = *agent::ReadPidRecord(Folder(kRank0));
  StopAgent();
  ::kill(rank.session, SIGKILL);
  StartAgent();
  EXPECT_EQ(std::get<job::RankExit>(coordinator_.AwaitEnd(kRank0)).signal, SIGKILL);
  const auto left = shim::ReadStat(rank.pid);
  EXPECT_TRUE(!left || left->ended());
  EXPECT_TRUE(agent::ReadExitRecord(Folder(kRank0))) << "the next worker finds the same";
}

TEST_F(AgentRestartTest, OneDirectoryHasOneWorker) {
  StartAgent();
  const RunningAgent second(options_, make_device_());
  ASSERT_FALSE(second.started());
  EXPECT_EQ(second.started().error().code, base::Code::kConflict);
}

TEST_F(AgentRestartTest, AReleasedRankIsNotTakenUpAgain) {
  StartAgent();
  coordinator_.Start(kRank0, Plan("exit 0"));
  coordinator_.AwaitEnd(kRank0);
  coordinator_.Release(kRank0);
  AwaitNoFolder(kRank0);
  StopAgent();
  StartAgent();
  coordinator_.Await("the second hello", [](const auto& told) { return told.hellos.size() >= 2; });
  EXPECT_EQ(coordinator_.told().hellos[1].held_size(), 0);
}

TEST_F(AgentRestartTest, ReleasingARunningRankEndsIt) {
  StartAgent();
  coordinator_.Start(kRank0, Plan("started here; wait"));
  AwaitReports(kRank0, 1);
  coordinator_.Release(kRank0);
  AwaitNoFolder(kRank0);
}

}  // namespace
}  // namespace trainctl::tests
