// A rank's deadline, which its worker keeps whoever is away.
#include <gtest/gtest.h>

#include <filesystem>

#include "common/wire/deadline.h"
#include "common/wire/rank_key.h"
#include "tests/agent/agent_fixture.h"

namespace trainctl::tests {
namespace {

constexpr int64_t kHourUs = int64_t{3600} * 1'000'000;

job::Deadline DeadlineIn(int64_t us) {
  return {us, 50'000, job::Outcome::kLeaseEnded, "lease 'lab' ends"};
}

class AgentDeadlineTest : public AgentFixture {
 protected:
  void Start(const std::string& script, const job::Deadline& deadline) {
    v1::CoordinatorMessage message;
    wire::WriteRankKey(kRank0, message.mutable_start());
    message.mutable_start()->set_plan_json(Plan(script));
    *message.mutable_start()->mutable_deadline() = wire::ToWire(deadline);
    coordinator_.Send(message);
  }
  void Keep(const job::Deadline& deadline) {
    v1::CoordinatorMessage message;
    wire::WriteRankKey(kRank0, message.mutable_deadline());
    *message.mutable_deadline()->mutable_deadline() = wire::ToWire(deadline);
    coordinator_.Send(message);
  }
  void ExpectEndOfLease() {
    const auto exit = std::get<job::RankExit>(coordinator_.AwaitEnd(kRank0));
    EXPECT_EQ(exit.deadline, job::Outcome::kLeaseEnded);
    EXPECT_EQ(exit.deadline_message, "lease 'lab' ends");
    EXPECT_TRUE(exit.signal);
  }
};

TEST_F(AgentDeadlineTest, TheRankEndsWhileTheCoordinatorIsAway) {
  StartAgent();
  Start("started c; wait", DeadlineIn(kHourUs));
  AwaitStarted(kRank0);
  Keep(DeadlineIn(200'000));
  AwaitThat("the deadline in the rank's folder",
            [&] { return std::filesystem::exists(Folder(kRank0) + "/deadline.json"); });
  coordinator_.GoAway();
  AwaitExitRecord(kRank0);
  coordinator_.ComeBack();
  AnnounceCoordinator();
  ExpectEndOfLease();
}

TEST_F(AgentDeadlineTest, ARankThatDoesNotWantToIsKilledAfterTheGrace) {
  StartAgent();
  Start("ignore-term; started c; wait", DeadlineIn(300'000));
  ExpectEndOfLease();
}

TEST_F(AgentDeadlineTest, TheNextWorkerKeepsIt) {
  StartAgent();
  Start("started c; wait", DeadlineIn(3'000'000));
  AwaitStarted(kRank0);
  StopAgent();
  StartAgent();
  ExpectEndOfLease();
}

TEST_F(AgentDeadlineTest, TheShimKeepsItWhileThereIsNoWorker) {
  StartAgent();
  Start("started c; wait", DeadlineIn(3'000'000));
  AwaitStarted(kRank0);
  StopAgent();
  AwaitExitRecord(kRank0);
  StartAgent();
  ExpectEndOfLease();
}

TEST_F(AgentDeadlineTest, ARankThatEndsBeforeEndsAsItDoes) {
  StartAgent();
  Start("exit 3", DeadlineIn(kHourUs));
  const auto exit = std::get<job::RankExit>(coordinator_.AwaitEnd(kRank0));
  EXPECT_EQ(exit.exit_code, 3);
  EXPECT_FALSE(exit.deadline);
}

}  // namespace
}  // namespace trainctl::tests
