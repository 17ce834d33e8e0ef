// A worker with a GPU, as far as that shows without one.
#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>

#include "common/base/file.h"
#include "common/rank/rank_json.h"
#include "tests/agent/agent_fixture.h"
#include "tests/agent/fake_gpu_library.h"

namespace trainctl::tests {
namespace {

using testing::HasSubstr;

class AgentGpuTest : public AgentFixture {
 protected:
  AgentGpuTest() {
    make_device_ = [this] {
      std::filesystem::create_directories(options_.directory);
      return agent::MakeGpu(std::make_unique<FakeGpuLibrary>(driver_), gpu_, 8, options_.directory)
          .value();
    };
  }
  ~AgentGpuTest() override { StopAgent(); }  // before the driver that it asks

  static std::string GpuPlan(const std::string& script) {
    job::RankPlan plan = *job::RankPlanFromJson(Plan(script));
    plan.device = job::DeviceKind::kCuda;
    plan.device_index = 5;
    return job::ToJson(plan);
  }

  FakeDriver driver_;
  int64_t gpu_ = 0;
};

TEST_F(AgentGpuTest, TheRankSeesItsGpuAloneAsTheFirst) {
  StartAgent();
  coordinator_.Start(kRank0, GpuPlan("environment CUDA_VISIBLE_DEVICES; exit 0"));
  coordinator_.AwaitEnd(kRank0);
  EXPECT_EQ(coordinator_.told().logs[kRank0], "GPU-aaaa\n");
  EXPECT_EQ(
      job::RankPlanFromJson(*base::ReadFile(Folder(kRank0) + "/plan.json", 1 << 20))->device_index,
      0);
  const v1::Device device = coordinator_.told().hellos[0].device();
  EXPECT_EQ(device.kind(), "cuda");
  EXPECT_EQ(device.uuid(), "GPU-aaaa");
  EXPECT_EQ(device.compute_capability(), "9.0");
  EXPECT_EQ(device.driver(), "580.95.05");
}

TEST_F(AgentGpuTest, SaysHowItsGpuReachesTheOthers) {
  driver_.gpus.front().numa_node = 1;
  driver_.gpus.push_back({1, "GPU-bbbb", "NVIDIA H200", int64_t{140} << 30, 9, 0});
  driver_.gpus.push_back({2, "GPU-cccc", "NVIDIA H200", int64_t{140} << 30, 9, 0});
  driver_.links[{0, 2}] = job::LinkKind::kBetweenSockets;
  StartAgent();
  coordinator_.Await("hello", [](const auto& told) { return !told.hellos.empty(); });
  const v1::Device device = coordinator_.told().hellos[0].device();
  EXPECT_EQ(device.numa_node(), 1);
  const std::map<std::string, std::string> links(device.links().begin(), device.links().end());
  EXPECT_EQ(links, (std::map<std::string, std::string>{{"GPU-bbbb", "NVLink"},
                                                       {"GPU-cccc", "between sockets"}}));
}

TEST_F(AgentGpuTest, TheRankIsToldTheCpusNearItsGpu) {
  driver_.gpus.front().numa_node = 1;
  driver_.gpus.push_back(driver_.gpus.front());
  driver_.gpus.back().index = gpu_ = 1;
  options_.host_cpus = {{0, 1, 2, 3, 4, 5}, {{2, 1}, {3, 1}, {4, 1}, {5, 1}}};
  StartAgent();
  coordinator_.Start(kRank0, GpuPlan("exit 0"));
  coordinator_.AwaitEnd(kRank0);
  const auto plan = job::RankPlanFromJson(*base::ReadFile(Folder(kRank0) + "/plan.json", 1 << 20));
  EXPECT_EQ(plan->device_index, 0);
  EXPECT_EQ(plan->cpus, "1,4-5");  // half of node 0, which has no GPU, and of its own
}

TEST_F(AgentGpuTest, SamplesTheGpuAndItsEnergySinceTheStart) {
  StartAgent();
  coordinator_.Start(kRank0, GpuPlan("train 0 1; command; wait"));
  AwaitReports(kRank0, 4);
  driver_.Set([](FakeDriver& driver) { driver.sample.energy_joules = 1250; });
  StopAgent();
  StartAgent();  // the zero is kept across workers
  const auto seen = [](const FakeCoordinator::Told& told) {
    for (const auto& report : told.reports.at(kRank0)) {
      const auto* metrics = std::get_if<job::RankMetrics>(&report.body);
      if (metrics == nullptr) continue;
      for (const auto& point : metrics->points) {
        if (point.name == "gpu_energy_joules" && point.value == 250) return true;
      }
    }
    return false;
  };
  coordinator_.Await("250 J", seen);
  EXPECT_EQ(Metric(kRank0, "gpu_power_watts")[0], 300);
  EXPECT_EQ(Metric(kRank0, "gpu_utilization_percent")[0], 50);
  EXPECT_EQ(coordinator_.told().last_heartbeat.device().power_watts(), 300);
}

TEST_F(AgentGpuTest, WhatTheDriverDoesNotTellIsNoPoint) {
  driver_.Set([](FakeDriver& driver) { driver.sample = {.memory_used_bytes = 600 << 20}; });
  StartAgent();
  coordinator_.Start(kRank0, GpuPlan("train 0 1; command; wait"));
  AwaitReports(kRank0, 4);
  driver_.Set([](FakeDriver& driver) {
    driver.sample.energy_joules = 5'000'000;  // of all the time since the driver was loaded
    driver.sample.power_watts = 300;
  });
  coordinator_.Await("300 W", [](const FakeCoordinator::Told& told) {
    return told.last_heartbeat.device().power_watts() == 300;
  });
  AwaitThat("a power point", [&] { return !Metric(kRank0, "gpu_power_watts").empty(); });
  EXPECT_TRUE(Metric(kRank0, "gpu_energy_joules").empty()) << "nobody knows where it began";
  EXPECT_TRUE(Metric(kRank0, "gpu_utilization_percent").empty());
  EXPECT_TRUE(Metric(kRank0, "gpu_temperature_celsius").empty());
  EXPECT_FALSE(coordinator_.told().last_heartbeat.device().has_temperature_celsius());
}

TEST_F(AgentGpuTest, ARunShorterThanASampleHasItsEnergyAndTheHostsCpuTime) {
  options_.sample_interval = std::chrono::hours(1);
  StartAgent();
  coordinator_.Start(kRank0, GpuPlan("started here; command; exit 0"));
  AwaitStarted(kRank0);
  driver_.Set([](FakeDriver& driver) { driver.sample.energy_joules = 1250; });
  coordinator_.Peers(kRank0, "ab");
  coordinator_.AwaitEnd(kRank0);
  EXPECT_EQ(Metric(kRank0, "gpu_energy_joules"), (std::map<int64_t, double>{{0, 250}}));
  EXPECT_EQ(Metric(kRank0, "gpu_power_watts")[0], 300);
  EXPECT_EQ(Metric(kRank0, "host_cpu_percent").size(), 1);
  EXPECT_EQ(Metric(kRank0, "gpu_memory_used_bytes").size(), 0) << "the rank's own is gone";
  EXPECT_THAT(coordinator_.told().faults, testing::IsEmpty());
}

TEST_F(AgentGpuTest, IsFreeOnlyOnceItsMemoryIsBack) {
  StartAgent();
  coordinator_.Await("hello", [](const auto& told) {
    return !told.hellos.empty() && told.hellos[0].device_free();
  });
  coordinator_.Start(kRank0, GpuPlan("started here; command; exit 0"));
  AwaitReports(kRank0, 1);
  driver_.Set([](FakeDriver& driver) { driver.sample.memory_used_bytes = int64_t{90} << 30; });
  const size_t words = coordinator_.told().device_states.size();
  coordinator_.Peers(kRank0, "ab");
  coordinator_.AwaitEnd(kRank0);
  const int64_t beats = coordinator_.told().heartbeats;
  coordinator_.Await("some time", [&](const auto& told) { return told.heartbeats > beats + 3; });
  EXPECT_EQ(coordinator_.told().device_states.size(), words)
      << "nothing is said while the memory comes back";
  driver_.Set([](FakeDriver& driver) { driver.sample.memory_used_bytes = int64_t{610} << 20; });
  coordinator_.Await("the device's word",
                     [&](const auto& told) { return told.device_states.size() > words; });
  EXPECT_TRUE(coordinator_.told().device_states.back().free());
}

TEST_F(AgentGpuTest, SaysWhenSomebodyElseTakesTheGpu) {
  StartAgent();
  coordinator_.Await("the device's word",
                     [](const auto& told) { return !told.device_states.empty(); });
  driver_.Set([](FakeDriver& driver) {
    driver.sample.memory_used_bytes = int64_t{20} << 30;
    driver.processes = {{::getppid(), int64_t{19} << 30}};
  });
  coordinator_.Await("that it is not free",
                     [](const auto& told) { return !told.device_states.back().free(); });
  EXPECT_THAT(coordinator_.told().device_states.back().reason(),
              testing::AllOf(HasSubstr("19.00 GiB"), HasSubstr(std::to_string(::getppid()))));
  driver_.Set([](FakeDriver& driver) {
    driver.sample.memory_used_bytes = int64_t{600} << 20;
    driver.processes.clear();
  });
  coordinator_.Await("that it is free again",
                     [](const auto& told) { return told.device_states.back().free(); });
}

TEST_F(AgentGpuTest, TellsWhoElseUsesTheGpuBesideItsRank) {
  StartAgent();
  coordinator_.Start(kRank0, GpuPlan("started here; command; wait"));
  AwaitStarted(kRank0);
  int64_t rank_pid = 0;
  const FakeCoordinator::Told begun = coordinator_.told();
  for (const auto& report : begun.reports.at(kRank0)) {
    if (const auto* started = std::get_if<job::RankStarted>(&report.body)) rank_pid = started->pid;
  }
  driver_.Set([&](FakeDriver& driver) {
    driver.processes = {{rank_pid, int64_t{40} << 30}, {::getpid(), int64_t{19} << 30}};
  });
  coordinator_.Await("the other process", [](const FakeCoordinator::Told& told) {
    return told.last_heartbeat.device().foreign_size() > 0;
  });
  const v1::DeviceSample sample = coordinator_.told().last_heartbeat.device();
  ASSERT_EQ(sample.foreign_size(), 1);
  EXPECT_EQ(sample.foreign(0).pid(), ::getpid());
  EXPECT_EQ(sample.foreign(0).program(), "agent_test");
  EXPECT_EQ(sample.foreign(0).memory_bytes(), int64_t{19} << 30);
}

TEST_F(AgentGpuTest, ABusyGpuIsNotFreeFromTheStart) {
  driver_.Set([](FakeDriver& driver) { driver.sample.memory_used_bytes = int64_t{20} << 30; });
  StartAgent();
  coordinator_.Await("hello", [](const auto& told) { return !told.hellos.empty(); });
  EXPECT_FALSE(coordinator_.told().hellos[0].device_free());
  coordinator_.Await("the reason", [](const auto& told) { return !told.device_states.empty(); });
  EXPECT_THAT(coordinator_.told().device_states[0].reason(), HasSubstr("no rank runs here"));
}

TEST_F(AgentGpuTest, AGpuOnWhichAnotherComputesIsNotFreeHoweverLittleThatHolds) {
  driver_.Set([](FakeDriver& driver) {
    driver.sample.memory_used_bytes = int64_t{310} << 20;
    driver.processes = {{::getppid(), int64_t{300} << 20}};
  });
  StartAgent();
  coordinator_.Await("hello", [](const auto& told) { return !told.hellos.empty(); });
  EXPECT_FALSE(coordinator_.told().hellos[0].device_free());
  EXPECT_THAT(coordinator_.told().hellos[0].device_reason(), HasSubstr("others compute on it"));
}

}  // namespace
}  // namespace trainctl::tests
