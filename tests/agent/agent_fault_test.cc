// A GPU's faults from its driver through a real worker to the real scheduler.
#include <gmock/gmock.h>

#include <filesystem>

#include "common/rank/rank_json.h"
#include "common/wire/device_fault.h"
#include "server/core/restore.h"
#include "server/core/step.h"
#include "server/rpc/worker_messages.h"
#include "tests/agent/agent_fixture.h"
#include "tests/agent/fake_gpu_library.h"

namespace trainctl::tests {
namespace {

using testing::HasSubstr;

class AgentFaultTest : public AgentFixture {
 protected:
  AgentFaultTest() {
    make_device_ = [this] {
      std::filesystem::create_directories(options_.directory);
      return agent::MakeGpu(std::make_unique<FakeGpuLibrary>(driver_), 0, 8, options_.directory)
          .value();
    };
  }
  ~AgentFaultTest() override { StopAgent(); }  // before the driver that it asks

  void AwaitWord(size_t count) {
    coordinator_.Await("word of a fault",
                       [&](const auto& told) { return told.device_faults.size() >= count; });
  }

  // The scheduler as it is after what the worker has told last.
  void Hear() {
    const FakeCoordinator::Told told = coordinator_.told();
    const auto hello = rpc::DecodeHello(told.hellos.back()).value();
    core::Step(state_, hello, {1, 1});
    worker_ = hello.worker.name;
    for (const v1::DeviceFaults& faults : told.device_faults)
      core::Step(state_, core::DeviceFaultsTold{worker_, wire::FromWire(faults.faults())}, {2, 2});
  }
  std::string State() const {
    return std::string(Name(core::StateOf(state_, state_.workers.at(worker_))));
  }
  std::string Reason() const { return core::WorkerReason(state_, state_.workers.at(worker_)); }

  FakeDriver driver_;
  core::State state_ = core::Restore({}, {}, {1, 1});
  std::string worker_;
};

TEST_F(AgentFaultTest, AGpuThatHasFallenOffTheBusIsBadUntilItIsUndrained) {
  StartAgent();
  coordinator_.Await("hello", [](const auto& told) { return !told.hellos.empty(); });
  Hear();
  EXPECT_EQ(State(), "READY");
  driver_.Set([](FakeDriver& driver) { driver.xids = {79}; });
  AwaitWord(1);
  Hear();
  EXPECT_EQ(State(), "BAD");
  EXPECT_THAT(Reason(), HasSubstr("XID 79 (the GPU has fallen off the bus)"));
  core::Step(state_, core::DevicesUndrained{worker_}, {3, 3});
  EXPECT_EQ(State(), "READY");
  coordinator_.GoAway();
  coordinator_.ComeBack();
  AnnounceCoordinator();
  coordinator_.Await("the next hello", [](const auto& told) { return told.hellos.size() == 2; });
  EXPECT_EQ(coordinator_.told().hellos.back().device_faults_size(), 1);
  Hear();
  EXPECT_EQ(State(), "READY") << "the same fault is told again";
}

TEST_F(AgentFaultTest, AFaultBetweenHelloAndWelcomeIsToldThen) {
  coordinator_.WithholdWelcomes();
  StartAgent();
  coordinator_.Await("hello", [](const auto& told) { return !told.hellos.empty(); });
  driver_.Set([](FakeDriver& driver) { driver.xids = {79}; });
  AwaitThat("the worker's look at the device", [this] {
    const std::lock_guard lock(driver_.mutex);
    return driver_.xids.empty();
  });
  v1::CoordinatorMessage welcome;
  welcome.mutable_welcome();
  coordinator_.Send(welcome);
  AwaitWord(1);
  Hear();
  EXPECT_EQ(State(), "BAD");
}

TEST_F(AgentFaultTest, AFaultIsToldBeforeTheEndThatItCaused) {
  options_.sample_interval = std::chrono::hours(1);
  StartAgent();
  job::RankPlan plan = *job::RankPlanFromJson(Plan("started here; command; exit 3"));
  plan.device = job::DeviceKind::kCuda;
  coordinator_.Start(kRank0, job::ToJson(plan));
  AwaitStarted(kRank0);
  driver_.Set([](FakeDriver& driver) { driver.xids = {94, 31}; });
  coordinator_.Peers(kRank0, "ab");
  coordinator_.AwaitEnd(kRank0);
  ASSERT_EQ(coordinator_.told().device_faults.size(), 1u);
  Hear();
  EXPECT_EQ(State(), "SUSPECT");
  EXPECT_THAT(Reason(), HasSubstr("XID 94"));
}

}  // namespace
}  // namespace trainctl::tests
