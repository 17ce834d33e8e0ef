// One rank of one attempt on this worker: its shim, what it said, and samples of what it uses. It
// lasts from StartRank, or from the folder that an earlier worker left, to ReleaseRank. Runs on the
// io_context's thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "common/base/clock.h"
#include "common/job/host_rules.h"
#include "worker/agent/device.h"
#include "worker/agent/host_sampler.h"
#include "worker/agent/kept_deadline.h"
#include "worker/agent/rank_sampler.h"
#include "worker/agent/relay.h"
#include "worker/agent/shim_keeper.h"

namespace trainctl::agent {

// What device and host are doing now.
struct Usage {
  std::optional<job::DeviceSample> gpu;
  job::HostSample host;
};

class HeldRank {
 public:
  struct Callbacks {
    std::function<Usage()>
        use;  // asked once more at the rank's end, so that the shortest run has its energy too
    std::function<void()> on_news;   // Next may have something
    std::function<void()> on_ended;  // the tree is gone, or what is left of it can't be ended
    std::function<void()>
        on_removable;  // released, and nothing of it is needed any more; called once
  };
  struct Launch {
    std::string host;                          // this one, for people
    std::string plan_json;                     // as StartRank brought it
    std::string bind_address;                  // filled into the plan
    int64_t device_number = 0;                 // on its host
    HostCpus host_cpus = {};                   // of which the rank is given its share
    std::vector<NumaNode> host_devices = {};   // that share them
    std::string rank_program;                  //
    ShimCommand shim;                          //
    std::optional<double> energy_joules = {};  // of the GPU now
    job::HostRules rules = {};                 // of the host
    std::optional<job::Deadline> deadline = {};
  };

  HeldRank(boost::asio::io_context& io, const base::Clock& clock, const job::RankKey& key,
           std::string folder, Callbacks callbacks, ShimPatience patience = {});
  ~HeldRank();

  // Makes the folder and starts the rank. Whatever goes wrong is the rank's end, a launch failure.
  // So is a model or data path that is not there: submit may have been accepted without an answer
  // to Inspect, or by the word of another host. The rank's own process looks for them, since a
  // mount may hang.
  void Start(const Launch& launch);
  // Takes up what an earlier worker started.
  void Adopt();

  // {"type":"peers"} to the rank; the same blob only once.
  void GivePeers(const std::string& blob);
  void Stop(double grace_seconds);
  // The deadline that it keeps from now on, whoever is away; nullopt: none.
  void Keep(const std::optional<job::Deadline>& deadline);
  // Stops it where its deadline has come. Due now and then.
  void StopIfDue();
  // The coordinator has no more interest: removable once the rank has ended and its log is
  // delivered, or after a while without that.
  void Release();

  // What the rank, its GPU and the host use now, as metric points in the rank's own stream of
  // messages.
  void Sample(const Usage& usage);
  std::optional<RankSample> last_sample() const { return last_sample_; }

  // To and from the coordinator (relay.h).
  void Resume(int64_t stored_sequence, int64_t stored_log_bytes);
  void Acknowledge(int64_t sequence);
  void AcknowledgeLog(int64_t offset, bool again);
  std::optional<v1::WorkerMessage> Next();
  void SendLogAgainIfStalled() { relay_.SendLogAgainIfStalled(clock_.Steady()); }

  const job::RankKey& key() const { return key_; }
  const std::string& folder() const { return folder_; }
  bool running() const { return !end_; }
  // As ShimKeeper's, while it runs.
  int files_error() const { return running() ? keeper_.files_error() : 0; }
  const std::optional<shim::ExitRecord>& end() const { return end_; }
  // Ended, with nothing left of it.
  bool gone() const;

 private:
  base::Status Prepare(const Launch& launch, ShimCommand& command);
  void Ended(const shim::ExitRecord& record);
  // rank: nullopt once it has ended, when its GPU's memory is no more its own either.
  std::string SampleLine(const Usage& usage, const std::optional<RankSample>& rank) const;
  void CheckRemovable();
  void MakeRemovable();
  job::ReportBody ReportOf(const shim::ExitRecord& record) const;

  const base::Clock& clock_;
  const job::RankKey key_;
  const std::string folder_;
  const Callbacks callbacks_;
  const std::shared_ptr<bool> alive_;  // of timers whose handlers are queued already
  Relay relay_;
  KeptDeadline deadline_;
  ShimKeeper keeper_;
  boost::asio::steady_timer end_timer_;
  boost::asio::steady_timer release_timer_;
  std::optional<shim::ExitRecord> end_;
  std::optional<RankSampler> sampler_;
  std::optional<RankSample> last_sample_;
  std::optional<double> energy_at_start_joules_;
  bool seen_running_ = false;  // by this worker: the end is seen when it happens
  std::string peers_;
  bool released_ = false;
  bool removable_ = false;
};

}  // namespace trainctl::agent
