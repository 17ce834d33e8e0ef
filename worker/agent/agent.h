// The worker: one device, its ranks, one stream to the coordinator. It decides nothing; it does
// what it is told, once, and reports what is. All that it must not forget lies in its ranks'
// folders and with the coordinator. So it can be killed and started again at any moment while its
// ranks go on. Runs on the io_context's one thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "common/job/host_rules.h"
#include "worker/agent/artifact_reader.h"
#include "worker/agent/device.h"
#include "worker/agent/device_watch.h"
#include "worker/agent/fault_watch.h"
#include "worker/agent/foreign_processes.h"
#include "worker/agent/held_rank.h"
#include "worker/agent/host_sampler.h"
#include "worker/agent/inspection.h"
#include "worker/agent/launch_ability.h"
#include "worker/agent/output_remover.h"
#include "worker/agent/uplink.h"
#include "worker/agent/worker_folder.h"

namespace trainctl::v1 {
class ArtifactAsk;
class InspectAsk;
class OutputsAsk;
class StartRank;
}  // namespace trainctl::v1

namespace trainctl::agent {

struct AgentOptions {
  std::string name;                // stable: "host/0"
  std::string host;                //
  std::string incarnation;         // of this process: random
  std::string directory;           // the worker's own; ranks/ in it holds the ranks' folders
  std::string rank_program;        // trainrank
  std::string shim_program;        // trainshim
  std::string inspection_program;  // trainworker: this program
  std::vector<std::string> shim_arguments;
  std::string data_interface;  // the address that other ranks reach this host by; empty: that
                               // towards the coordinator
  job::Labels labels;          // for constraints of jobs
  job::HostRules rules;
  HostCpus host_cpus;  // that ranks are given shares of; none: they run wherever they may
  std::vector<std::string> environment;  // of ranks, before the device's own variables; NAME=value
  UplinkOptions uplink;
  std::chrono::milliseconds sample_interval{2000};  // of heartbeats and samples
  std::chrono::milliseconds settle_interval{
      100};  // between looks at a device that a rank has just left
  std::chrono::milliseconds inspect_timeout{60'000};
  std::chrono::milliseconds launch_rest{10'000};  // after a start that failed here
  ShimPatience shim_patience;
  // Another worker has this one's name, and has had it for the patience: longer than it takes to
  // notice that a worker has ended. Empty: it is tried for ever.
  std::function<void(const std::string& why)> on_refused;
  // Whether the coordinator is there, in a few words. Empty: nobody asks.
  std::function<void(const std::string& words)> on_status;
  std::chrono::milliseconds refusal_patience{30'000};
};

class Agent {
 public:
  // device outlives the agent.
  Agent(boost::asio::io_context& io, const base::Clock& clock, AgentOptions options,
        Device& device);
  ~Agent();

  // Takes up the ranks that are there, and dials. Errors as TakeFolder's.
  base::Status Start();

 private:
  void Up(const std::string& local_address);
  void Down(const base::Error& reason);
  void Receive(const v1::CoordinatorMessage& message);
  void Welcomed(const v1::CoordinatorMessage& message);
  void StartRank(const job::RankKey& key, const v1::StartRank& message);
  std::vector<std::string> RankEnvironment() const;
  void Inspect(const v1::InspectAsk& ask);
  void ReadArtifact(const v1::ArtifactAsk& ask);
  void RemoveOutputs(const v1::OutputsAsk& ask);

  HeldRank& Hold(const job::RankKey& key);
  HeldRank* Find(const std::optional<job::RankKey>& key);  // nullptr: not held
  void RankEnded(const job::RankKey& key);
  void RemoveLater(const job::RankKey& key);

  void Pump();
  void Tick();
  void TickLater();
  void CheckFaults();
  void CheckDevice();
  DeviceUse Use();
  std::string Trouble() const;
  Usage SampleUsage();

  boost::asio::io_context& io_;
  const base::Clock& clock_;
  const AgentOptions options_;
  Device& device_;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  ForeignProcesses foreign_processes_;
  WorkerFolder worker_folder_;
  HostSampler host_sampler_;
  DeviceWatch device_watch_;
  FaultWatch fault_watch_;
  LaunchAbility launch_ability_;
  Inspections inspections_;
  ArtifactReader artifact_reader_;
  OutputRemover output_remover_;
  std::map<job::RankKey, std::unique_ptr<HeldRank>> held_;
  boost::asio::steady_timer tick_timer_;
  boost::asio::steady_timer settle_timer_;
  int64_t streams_ = 0;                   // begun by this process
  std::string address_;                   // of this host, for other ranks
  bool welcomed_ = false;                 // the coordinator has said how far it is
  bool faults_untold_ = false;            // since the last word of them, Hello or message
  base::SteadyMicros refused_since_ = 0;  // 0: it is not
  Uplink uplink_;
};

}  // namespace trainctl::agent
