// A whole cluster under one seed: the core with its rows, workers with ranks, a network that loses
// streams, hosts that restart; a coordinator that is killed before or after its commit. The seed
// chooses everything that happens, so a failure can be replayed.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "server/core/step.h"
#include "tests/server/ledger.h"
#include "tests/server/sim_worker.h"

namespace trainctl::core {

class SimCluster {
 public:
  static constexpr int64_t kAutoMicroBatch = 8;  // of the jobs that asked for "auto"
  static constexpr int64_t kMinRunTime = 5'000'000;

  // Told of every commit.
  using Committed = std::function<void(const std::vector<Persist>&)>;

  explicit SimCluster(uint64_t seed, Committed committed = {});

  // One thing happens, a fault perhaps.
  void Disturb();
  // No more faults, submissions and cancels: until all jobs have ended. False: they don't.
  bool Settle();

  const State& state() const { return state_; }
  const Ledger& ledger() const { return ledger_; }
  const std::set<base::JobId>& accepted() const { return accepted_; }
  // Attempts all of whose ranks did all their steps.
  const std::map<std::pair<base::JobId, int64_t>, std::set<int64_t>>& succeeded_ranks() const {
    return succeeded_ranks_;
  }
  const Now& now() const { return now_; }
  int64_t preempted() const { return preempted_; }

 private:
  void Feed(const Event& event);
  void Perform(const std::vector<Effect>& effects);
  void RestartCoordinator();
  void Submit();
  void Cancel();
  void Remove();
  void Drain();
  void MakeLease();
  void ChangeLease();
  void Fault();
  void Deliver();
  void AdvanceRanks(bool with_faults);
  void Second();
  void AWhile();
  void Connect(SimWorker& worker);
  bool PeersAlive(const SimRank& rank);
  // As the shell answers for a worker that is not there, or goes away.
  void NobodyLooks(const SimWorker& worker, base::JobId job);
  void Lose(SimWorker& worker);
  void NoJobRunsTwice(const StartRank& start);
  void AnExclusiveJobIsAlone(const StartRank& start);
  void MakeFollow(job::JobSpec* spec);
  void WhatItFollowsHasEnded(const StartRank& start);
  void ItsDeviceIsNotDrained(const StartRank& start);
  void ItsDeviceIsItsLeases(const StartRank& start);
  void Constrain(job::JobSpec* spec);
  void WhoGivesWayAllowsIt(const AttemptRow& attempt);
  void ItsDeviceMeetsItsConstraints(const StartRank& start);
  SimWorker& Any() { return workers_[random_() % workers_.size()]; }
  SimWorker& Named(const std::string& name);

  Random random_;
  Committed committed_;
  State state_;
  Ledger ledger_;
  Now now_{1'000'000'000'000, 1'000'000'000};
  std::vector<SimWorker> workers_;
  std::set<base::JobId> accepted_;
  std::map<std::pair<base::JobId, int64_t>, std::set<int64_t>> succeeded_ranks_;
  int64_t requests_ = 0;
  int64_t preempted_ = 0;                 // attempts that were stopped for another job
  int64_t largest_gang_ = 0;              // that the site can run
  std::vector<JobInspected> not_looked_;  // told at the next second
};

}  // namespace trainctl::core
