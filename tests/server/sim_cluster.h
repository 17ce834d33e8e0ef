// A whole cluster under one seed: the core with its rows, and workers with ranks. The network
// delays, loses streams, which the coordinator may notice late, and says things twice. What one
// direction carries overtakes the other; what was on its way on a stream that is gone may arrive
// beside its successor's. Hosts restart. The clock jumps. The disk is slow, full, forgets what it
// was not told to keep, or what it said it keeps; the coordinator is killed before or after its
// commit. The seed and the number of a step choose what happens in it: a failure can be replayed,
// also without some of its steps.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "server/core/step.h"
#include "tests/server/ledger.h"
#include "tests/server/sim_worker.h"

namespace trainctl::core {

// Which of that. kFirst: nothing is late or overtakes, and what is synced is kept.
enum class Faults { kFirst, kAll };

class SimCluster {
 public:
  static constexpr int64_t kAutoMicroBatch = 8;  // of the jobs that asked for "auto"
  static constexpr int64_t kMinRunTime = 5'000'000;

  // Told of every commit.
  using Committed = std::function<void(const std::vector<Persist>&)>;

  explicit SimCluster(uint64_t seed, Committed committed = {}, Faults faults = Faults::kAll);

  // One thing happens, a fault perhaps.
  void Disturb(int64_t step);
  // No more faults, submissions and cancels: until all jobs have ended. False: they don't.
  bool Settle();

  const State& state() const { return state_; }
  // What is on the disk; and what will be there with the next commit.
  const Ledger& ledger() const { return ledger_; }
  const Ledger& stepped() const { return stepped_; }
  const std::set<base::JobId>& accepted() const { return accepted_; }
  // Attempts all of whose ranks did all their steps.
  const std::map<std::pair<base::JobId, int64_t>, std::set<int64_t>>& succeeded_ranks() const {
    return succeeded_ranks_;
  }
  const Now& now() const { return now_; }
  base::WallMicros latest_wall() const { return latest_wall_; }  // that the clock ever said
  bool clock_jumped() const { return clock_jumped_; }
  // Whether a Tick has come since the clock jumped, or since a restart: a full disk keeps no stop.
  bool knows_time() const { return knows_time_; }
  int64_t preempted() const { return preempted_; }
  // How often the disk lost what it had said it keeps: jobs may be gone, and ends.
  int64_t losses() const { return losses_; }
  int64_t late() const { return late_events_; }  // events of streams that were gone

 private:
  void Feed(const Event& event);
  void CheckStep(const Actions& actions);
  void Commit();
  void DisturbDisk();
  void LosePower();
  void ForgetWhatIsLost(const Ledger& before);
  void JumpClock();
  void Cut(SimWorker& worker);
  void KeepOnItsWay(SimWorker& worker);
  void TakePlaceOfOlder(SimWorker& worker);
  void NoticeCuts();
  void Perform(const std::vector<Effect>& effects);
  void RestartCoordinator();
  void Submit();
  void Cancel();
  void Remove();
  void Drain();
  void BreakDown(const SimWorker& worker);
  void MakeLease();
  void ChangeLease();
  void Fault();
  void Deliver();
  void DeliverToWorker(SimWorker& worker);
  void DeliverToCoordinator(SimWorker& worker);
  bool DeliverLate(SimWorker& worker);
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
  void NothingOutlivesItsLease();
  void Constrain(job::JobSpec* spec);
  void WhoGivesWayAllowsIt(const AttemptRow& attempt);
  void ItsDeviceMeetsItsConstraints(const StartRank& start);
  SimWorker& Any() { return workers_[random_() % workers_.size()]; }
  SimWorker& Named(const std::string& name);

  const uint64_t seed_;
  const Faults faults_;
  Random random_;
  Committed committed_;
  State state_;
  State plain_;  // its twin, whose scheduler looks at each job (plain_schedule.h)
  Ledger ledger_, stepped_;
  std::vector<Persist> held_rows_;  // stepped, and not on the disk yet
  std::vector<Effect> held_effects_;
  int64_t slow_steps_ = 0, full_steps_ = 0;  // of the disk, from now on
  std::set<std::string> cut_;                // workers whose streams are gone, as nobody noticed
  std::map<std::string, std::deque<Event>> late_;  // what arrives of them still; by worker
  int64_t lying_steps_ = 0;                        // of the disk, from now on
  Ledger synced_;                                  // what it keeps, where it said more:
  std::vector<std::vector<Persist>> unsynced_;     // commits since
  int64_t losses_ = 0, late_events_ = 0;
  std::set<std::pair<base::JobId, int64_t>> lost_attempts_;  // whose ranks may run on
  std::map<std::string, base::WallMicros> lease_ends_;  // by name; the latest that was ever said
  base::WallMicros latest_wall_ = 0;
  bool clock_jumped_ = false;
  bool knows_time_ = true;
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
