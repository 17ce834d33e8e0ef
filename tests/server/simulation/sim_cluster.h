// A whole site under one seed: the real coordinator (sim_coordinator.h), and workers with ranks.
// The network delays, loses streams, which the coordinator may notice late, and says things twice.
// What one direction carries overtakes the other; what was on its way on a stream that is gone may
// arrive beside its successor's. Hosts restart. The clock jumps. The disk is slow, full, forgets
// what it was not told to keep, or what it said it keeps; the coordinator is killed before or after
// its commit, or while it speaks. Whole hosts lose their network, or half the site. People submit,
// ask again, cancel, remove, drain, lease, fence and revoke; they lend devices and end that, and
// restart the coordinator under another policy. The seed and the number of a step choose what
// happens in it: a failure can be replayed, also without some of its steps.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "server/core/step.h"
#include "tests/server/simulation/commit_checks.h"
#include "tests/server/simulation/device_words.h"
#include "tests/server/simulation/sim_coordinator.h"
#include "tests/server/simulation/sim_worker.h"
#include "tests/server/temporary_folder.h"

namespace trainctl::core {

// kLarge: hundreds of workers, and each step happens to many of them. Nobody schedules beside the
// core then: a scheduler that looks at each job takes too long.
enum class Size { kSmall, kLarge };

class SimCluster {
 public:
  static constexpr int64_t kAutoMicroBatch = 8;  // of the jobs that asked for "auto"
  static constexpr int64_t kMinRunTime = 5'000'000;

  struct Setting {
    Size size = Size::kSmall;
    bool keeps_power = false;  // the disk loses nothing that it said it keeps
    // Told of every commit.
    std::function<void(const store::Batch&)> committed = {};
    // Told of every event, after the core's Step.
    std::function<void(const Event&, const Actions&)> on_step = {};
  };

  explicit SimCluster(uint64_t seed) : SimCluster(seed, Setting()) {}
  SimCluster(uint64_t seed, Setting setting);
  SimCluster(const SimCluster&) = delete;

  // One thing happens, a fault perhaps.
  void Disturb(int64_t step);
  // No more faults, leases, drains, loans and revocations.
  void Calm();
  // After Calm: a second in which short jobs come, behind all that wait. Once a minute there comes
  // a gang of higher priority that wants all devices of a model.
  void Press();
  // No more submissions and cancels either: until all jobs have ended. False: they don't.
  bool Settle();

  // A scheduler that looks at each job finds nothing to do now: whoever could start or be looked at
  // was thought of when that became so.
  void NobodyIsOverlooked();

  const State& state() const { return coordinator_->shell().state(); }
  // What is on the disk; and what will be there with the next commit.
  const Ledger& ledger() const { return store_.ledger(); }
  const Ledger& stepped() const { return stepped_; }
  const Kept& kept() const { return store_.kept(); }
  // Whether anything is there of what the job's ranks wrote.
  bool HasLogs(base::JobId id) const { return *coordinator_->shell().logs().Has(id); }
  const std::vector<SimWorker>& workers() const { return workers_; }
  // What clients were told, and nobody has removed since.
  const std::set<base::JobId>& accepted() const { return accepted_; }
  // How many jobs each request was for.
  const std::map<std::string, int64_t>& requests() const { return requests_; }
  // Attempts all of whose ranks did all their steps.
  const std::map<std::pair<base::JobId, int64_t>, std::set<int64_t>>& succeeded_ranks() const {
    return succeeded_ranks_;
  }
  Now now() const { return {clock_.wall, clock_.steady}; }
  Size size() const { return setting_.size; }
  base::WallMicros latest_wall() const { return latest_wall_; }  // that the clock ever said
  bool clock_jumped() const { return clock_jumped_; }
  // Whether the clock was set, and the coordinator has not looked at it since.
  bool clock_is_news() const { return clock_is_news_; }
  // The same of what was said of leases.
  bool leases_are_news() const { return leases_are_news_; }
  // Whether the coordinator has had a Tick at this very time.
  bool has_ticked() const { return ticked_at_ && ticked_at_->wall == clock_.wall; }
  // Whether a commit was refused, and memory is ahead of the disk until the coordinator loads.
  bool is_stale() const { return store_.is_refused(); }
  // Whether the coordinator has dealt with all that has reached it.
  bool is_idle() const { return coordinator_->loop().is_idle(); }
  int64_t preempted() const { return preempted_; }
  int64_t removed() const { return removed_; }  // jobs
  int64_t outputs_asked() const { return outputs_asked_; }
  int64_t fenced() const { return fenced_; }  // workers that had a rank
  int64_t loans() const { return loans_; }    // that ended while jobs ran
  // How often the disk lost what it had said it keeps: jobs may be gone, and ends.
  int64_t losses() const { return losses_; }
  // Of each such loss the jobs that had ended, as the disk kept it.
  const std::vector<std::set<base::JobId>>& kept_ends() const { return kept_ends_; }
  // Whether it lost points of the rank, or the rank's attempt.
  bool HasLost(const job::RankKey& key) const {
    return lost_points_.contains(key) || lost_attempts_.contains({key.job, key.attempt});
  }
  int64_t late() const { return late_words_; }    // of streams that were gone
  int64_t strays() const { return strays_; }      // ranks that nobody wanted, and that were stopped
  int64_t old_logs() const { return old_logs_; }  // of jobs, that the site's policy removed

 private:
  using Attempt = std::pair<base::JobId, int64_t>;

  void AddHost(uint64_t host, int64_t devices);
  int64_t Crowd() const;

  // ---- the coordinator and its core ----
  void StartCoordinator();
  void RestartCoordinator();
  // What waits is done, as far as the disk is not slow.
  void Work();
  void WorkAtOnce();
  // Posts it to the coordinator's loop, as its server does.
  void Ask(std::function<void(coordinator::Coordinator&)> work);
  Actions StepAndCheck(State& state, const Event& event, const Now& now);
  void Loaded(const StoredState& stored);
  void RestorePlain(const State& state);
  void StepPlain(const State& state, const Event& event, const Now& now, const Actions& actions);
  void Committed(const store::Batch& batch);

  // ---- the network ----
  void Connect(SimWorker& worker);
  void Deliver();
  void DeliverAll();
  void DeliverAllOf(SimWorker& worker);
  void DeliverToWorker(SimWorker& worker);
  void DeliverToCoordinator(SimWorker& worker);
  bool DeliverLate(SimWorker& worker);
  void Tell(const std::shared_ptr<SimStream>& stream, const WorkerWord& word);
  void Sent(const std::string& worker, coordinator::WorkerCommand* command);
  void Leave(const std::shared_ptr<SimStream>& stream);
  void DropEnded();
  void BeatHearts();

  // ---- time ----
  void AdvanceRanks(bool with_faults);
  void Second();
  void AWhile();
  bool PeersAlive(const SimRank& rank);

  // ---- what goes wrong: sim_faults.cc ----
  void Fault();
  void DisturbDisk();
  void LosePower();
  void LoseWhatIsNew();
  void LookForOldLogs();
  void ForgetWhatIsLost(const Ledger& before);
  void JumpClock();
  void Cut(SimWorker& worker);
  void CutHost(const std::string& host);
  void CutMany();
  void Blink();
  void Reboot(SimWorker& worker);
  void RestartWorker(SimWorker& worker);
  void StopCoordinator();
  void LoseSomeOnItsWay(SimStream& stream);
  void NoticeCuts();

  // ---- people: sim_jobs.cc, sim_operators.cc ----
  void Submit();
  job::JobSpec DrawJob(const std::string& user);
  void CancelWhatNeverStarts();
  void SubmitOne(const std::string& user, int64_t devices, int64_t priority,
                 std::optional<int64_t> limit_seconds);
  void Send(const JobsSubmitted& request);
  void Answered(const JobsSubmitted& request, const base::Result<coordinator::Submitted>& answer);
  void AskAgain();
  int64_t DrawDevices();
  void MakeFollow(job::JobSpec* spec);
  void Constrain(job::JobSpec* spec);
  std::optional<base::JobId> AnyAccepted();
  void Cancel();
  void RemoveJobs();
  void RemoveOutputs();
  void RemoveWorker();
  void Drain();
  void BreakDown(SimWorker& worker);
  void MakeLease();
  void ChangeLease();
  void EndLeases();
  void Undrain();
  void Fence();
  void Revoke();
  void Lend();
  void ChangePolicy();

  // ---- what must hold of a step: step_checks.cc ----
  void CheckStep(const Actions& actions);
  void ANewJobHasNoPast(const JobRow& row);
  void ANewAttemptHasNoPast(const AttemptRow& row);
  void WhatHasEndedIsGone(const RankRow& row);
  void ItsDeviceIsSaidToBeFree(const RankRow& row);
  void WhoIsStoppedIsToEnd(const StopRank& stop);
  void NoJobRunsTwice(const StartRank& start);
  void WhatIsStartedIsStored(const StartRank& start);
  void AnExclusiveJobIsAlone(const StartRank& start);
  void WhatItFollowsHasEnded(const StartRank& start);
  void ItsDeviceIsNotDrained(const StartRank& start);
  void ItsDeviceIsItsLeases(const StartRank& start);
  void ItsOwnerHasTheQuota(const StartRank& start);
  void NothingOutlivesItsLease();
  void WhatIsRemovedIsOver(const job::RemovalQuestion& question);
  void WhoGivesWayAllowsIt(const AttemptRow& attempt);
  void ItsDeviceMeetsItsConstraints(const StartRank& start);

  SimWorker& Any() { return workers_[random_() % workers_.size()]; }
  SimWorker& Named(const std::string& name);

  const uint64_t seed_;
  const Setting setting_;
  Random random_;
  SimClock clock_;
  SimStore store_{random_};
  store::TemporaryFolder logs_;
  Options options_;                    // of the next process
  bool is_of_another_policy_ = false;  // than it began with
  Ledger stepped_;
  CommitChecks commits_;
  DeviceWords device_words_;
  State plain_;  // the core's twin, whose scheduler looks at each job (plain_schedule.h)
  std::optional<StoredState> to_restore_;  // of the twin, before its next Step
  Now loaded_at_;
  std::unique_ptr<SimCoordinator> coordinator_;
  std::list<std::shared_ptr<SimStream>> streams_;  // whose end the coordinator does not know
  std::vector<SimWorker> workers_;
  std::set<std::string> revoked_;                              // hosts
  int64_t slow_steps_ = 0, full_steps_ = 0, lying_steps_ = 0;  // of the disk, from now on
  int64_t losses_ = 0, late_words_ = 0, strays_ = 0, old_logs_ = 0;
  std::set<Attempt> lost_attempts_;  // whose ranks may run on
  std::vector<std::set<base::JobId>> kept_ends_;
  std::set<job::RankKey> lost_points_;
  std::map<Attempt, std::set<SimWorker*>> started_;
  std::map<std::string, base::WallMicros> lease_ends_;  // by name; the latest that was ever said
  base::WallMicros latest_wall_ = 0;
  bool clock_jumped_ = false, clock_is_news_ = false, leases_are_news_ = false;
  std::optional<Now> ticked_at_;
  std::set<base::JobId> accepted_;
  std::map<std::string, int64_t> requests_;
  std::deque<JobsSubmitted> unanswered_;
  std::map<std::string, std::vector<base::JobId>> answers_;
  std::map<Attempt, std::set<int64_t>> succeeded_ranks_;
  int64_t names_ = 0;  // of requests
  int64_t pressed_ = 0;
  int64_t preempted_ = 0;  // attempts that were stopped for another job
  int64_t removed_ = 0, outputs_asked_ = 0, fenced_ = 0, loans_ = 0;
  int64_t largest_gang_ = 0;  // that the site can run
};

}  // namespace trainctl::core
