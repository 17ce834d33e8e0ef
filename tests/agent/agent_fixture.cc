#include "tests/agent/agent_fixture.h"

#include <fcntl.h>
#include <signal.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <future>
#include <stdexcept>
#include <thread>

#include "common/base/file.h"
#include "common/rank/rank_json.h"
#include "tests/checkout.h"
#include "worker/agent/rank_records.h"
#include "worker/agent/remains.h"
#include "worker/shim/process_table.h"
#include "worker/shim/rank_folder.h"

namespace trainctl::tests {
class RunningAgent::Thread {
 public:
  Thread(const agent::AgentOptions& options, std::unique_ptr<agent::Device> device) {
    std::promise<base::Status> started;
    auto result = started.get_future();
    thread_ = std::thread([&, given = std::move(device)] {
      agent::Agent running(io_, clock_, options, *given);
      base::Status status = running.Start();
      const bool ok = status.ok();
      started.set_value(std::move(status));
      if (ok) io_.run();
    });
    started_ = std::make_unique<base::Status>(result.get());
  }
  ~Thread() {
    io_.stop();
    thread_.join();
  }

  base::SystemClock clock_;
  boost::asio::io_context io_;
  std::thread thread_;
  std::unique_ptr<base::Status> started_;
};

RunningAgent::RunningAgent(const agent::AgentOptions& options,
                           std::unique_ptr<agent::Device> device)
    : thread_(std::make_unique<Thread>(options, std::move(device))) {}

RunningAgent::~RunningAgent() = default;

const base::Status& RunningAgent::started() const { return *thread_->started_; }

void AwaitThat(const std::string& what, const std::function<bool()>& condition) {
  const auto give_up = std::chrono::steady_clock::now() + kDeadline;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > give_up)
      throw std::runtime_error("waited in vain for " + what);
    std::this_thread::yield();
  }
}

AgentFixture::AgentFixture() {
  spdlog::set_level(spdlog::level::off);
  options_.name = "testhost/0";
  options_.host = "testhost";
  options_.launch_rest = std::chrono::milliseconds(20);
  options_.directory = folder_.path() + "/worker";
  options_.rank_program = checkout::TestProgram("fake_trainrank");
  options_.inspection_program = checkout::TestProgram("fake_trainrank");
  options_.shim_program = checkout::Program("trainshim");
  options_.environment = {"PATH=/usr/bin:/bin", "AGENT_TEST=passed on"};
  options_.uplink.coordinator_file = folder_.path() + "/coordinator.addr";
  options_.uplink.first_retry = std::chrono::milliseconds(5);
  options_.uplink.last_retry = std::chrono::milliseconds(40);
  options_.sample_interval = std::chrono::milliseconds(25);
  options_.settle_interval = std::chrono::milliseconds(5);
  make_device_ = [] { return agent::MakeCpuSlot({"testhost", 0, 2, int64_t{8} << 30}); };
  AnnounceCoordinator();
}

AgentFixture::~AgentFixture() {
  StopAgent();
  for (const job::RankKey& key : agent::FindRanks(options_.directory)) EndShim(Folder(key));
}

// One that starts just now has no record yet: it is waited for. Who holds the lock keeps out any
// that is still to come.
void AgentFixture::EndShim(const std::string& folder) {
  AwaitThat("the shim's end", [&] {
    base::Result<base::Descriptor> lock = shim::LockFolder(folder);
    if (lock) locks_.push_back(std::move(*lock));
    if (lock || lock.error().code != base::Code::kConflict) return true;
    const auto rank = agent::ReadPidRecord(folder);
    const auto shim = rank ? shim::ReadStat(rank->session) : std::nullopt;
    if (shim) shim::Signal(*shim, SIGKILL);
    return false;
  });
  if (const auto rank = agent::ReadPidRecord(folder); rank && !agent::ReadExitRecord(folder))
    AwaitThat("the rank's end", [&] { return agent::EndRemains(*rank).empty(); });
}

void AgentFixture::StartAgent() {
  options_.incarnation = "process-" + std::to_string(++processes_);
  agent_ = std::make_unique<RunningAgent>(options_, make_device_());
  ASSERT_TRUE(agent_->started()) << agent_->started().error().message;
}

job::LaunchFailure AgentFixture::FailureOf(const std::string& plan) {
  StartAgent();
  coordinator_.Start(kRank0, plan);
  return std::get<job::LaunchFailure>(coordinator_.AwaitEnd(kRank0));
}

void AgentFixture::AnnounceCoordinator() {
  ASSERT_TRUE(
      base::WriteFileAtomically(options_.uplink.coordinator_file, coordinator_.address() + "\n"));
}

std::string AgentFixture::Plan(const std::string& script) {
  job::RankPlan plan;
  plan.job.name = "test";
  plan.job.notes = script;
  plan.job.model.path = "/";
  plan.job.data.path = "/dev/null";
  plan.job.strategy = job::StrategyKind::kSingle;
  plan.job.train.micro_batch_size = 1;
  plan.site = "testsite";
  plan.job_id = "j1";
  plan.device_uuid = "cpu:testhost:0";
  return job::ToJson(plan);
}

std::string AgentFixture::Folder(const job::RankKey& key) const {
  return agent::RankFolder(options_.directory, key);
}

std::map<int64_t, double> AgentFixture::Metric(const job::RankKey& key,
                                               const std::string& name) const {
  std::map<int64_t, double> values;
  FakeCoordinator::Told told = coordinator_.told();
  for (const job::RankReport& report : told.reports[key]) {
    const auto* metrics = std::get_if<job::RankMetrics>(&report.body);
    if (metrics == nullptr) continue;
    for (const job::MetricPoint& point : metrics->points) {
      if (point.name == name) values[point.step] = point.value;
    }
  }
  return values;
}

void AgentFixture::AwaitReports(const job::RankKey& key, size_t count) {
  coordinator_.Await(std::to_string(count) + " reports", [&](const FakeCoordinator::Told& told) {
    const auto reports = told.reports.find(key);
    return reports != told.reports.end() && reports->second.size() >= count;
  });
}

void AgentFixture::AwaitStarted(const job::RankKey& key) {
  coordinator_.Await("the rank's own word of its start", [&](const FakeCoordinator::Told& told) {
    const auto reports = told.reports.find(key);
    return reports != told.reports.end() &&
           std::any_of(reports->second.begin(), reports->second.end(), [](const auto& report) {
             return std::holds_alternative<job::RankStarted>(report.body);
           });
  });
}

void AgentFixture::AwaitNoFolder(const job::RankKey& key) {
  AwaitThat("the removal of the rank's folder",
            [&] { return !std::filesystem::exists(Folder(key)); });
}

void AgentFixture::AwaitExitRecord(const job::RankKey& key) {
  AwaitThat("the rank's exit record",
            [&] { return agent::ReadExitRecord(Folder(key)).has_value(); });
}

}  // namespace trainctl::tests
