// A real agent on a thread of its own, with real shims and fake_trainrank, and a fake coordinator.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/base/descriptor.h"
#include "common/rank/rank_plan.h"
#include "tests/agent/fake_coordinator.h"
#include "tests/shim/gate.h"
#include "tests/shim/temp_folder.h"
#include "worker/agent/agent.h"

namespace trainctl::tests {

inline const job::RankKey kRank0{base::JobId{1}, 1, 0};

// For what only the file system or the table of processes tells. Throws after a deadline, saying
// what was waited for.
void AwaitThat(const std::string& what, const std::function<bool()>& condition);

// One life of a worker: from the constructor to the destructor, which leaves its ranks running.
class RunningAgent {
 public:
  RunningAgent(const agent::AgentOptions& options, std::unique_ptr<agent::Device> device);
  ~RunningAgent();

  // Of Agent::Start.
  const base::Status& started() const;

 private:
  class Thread;
  std::unique_ptr<Thread> thread_;
};

class AgentFixture : public testing::Test {
 protected:
  AgentFixture();
  // Shims that still live are ended with their ranks: none writes when the folder goes.
  ~AgentFixture() override;

  void StartAgent();
  void StopAgent() { agent_.reset(); }
  void AnnounceCoordinator();
  // How the launch of this plan on a new agent fails.
  job::LaunchFailure FailureOf(const std::string& plan);

  // A plan whose rank does what the script says.
  static std::string Plan(const std::string& script);
  std::string Folder(const job::RankKey& key) const;
  // The values of a metric, by step, from all reports of a rank.
  std::map<int64_t, double> Metric(const job::RankKey& key, const std::string& name) const;
  // Waits until the rank has sent that many reports.
  void AwaitReports(const job::RankKey& key, size_t count);
  // The rank has said "started": the worker's samples may have come before.
  void AwaitStarted(const job::RankKey& key);
  void AwaitNoFolder(const job::RankKey& key);
  // Waits until the shim has written the rank's end, whether or not a worker is there.
  void AwaitExitRecord(const job::RankKey& key);

 private:
  void EndShim(const std::string& folder);

  std::vector<base::Descriptor> locks_;  // of folders whose shims have ended

 protected:
  TempFolder folder_;
  FakeCoordinator coordinator_;
  agent::AgentOptions options_;
  std::function<std::unique_ptr<agent::Device>()> make_device_;
  int processes_ = 0;  // that it was
  std::unique_ptr<RunningAgent> agent_;
};

}  // namespace trainctl::tests
