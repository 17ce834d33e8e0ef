// The scheduler's state: the jobs that have not ended and the site. Finished jobs are only in the
// store. Only Step and Restore change it; everybody may read it. Not thread-safe.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/base/clock.h"
#include "common/base/ids.h"
#include "common/job/constraint.h"
#include "common/job/host_rules.h"
#include "common/job/lease_state.h"
#include "common/job/outcome.h"
#include "common/job/site.h"
#include "common/job/worker_state.h"
#include "server/core/gang_pace.h"
#include "server/core/queue.h"
#include "server/core/rows.h"
#include "server/core/site_policy.h"
#include "server/core/step_pace.h"
#include "server/placement/free_devices.h"

namespace trainctl::core {

// Wall time goes into rows; deadlines are measured on the steady clock, so that a clock jump ends
// nothing.
struct Now {
  base::WallMicros wall = 0;
  base::SteadyMicros steady = 0;
};

struct Options {
  int64_t max_queued_jobs_of_user = std::numeric_limits<int64_t>::max();
  int64_t lost_after_us = 15'000'000;     // without a stream: the worker is LOST
  int64_t worker_grace_us = 120'000'000;  // without a stream: its gangs are stopped
  int64_t device_word_timeout_us =
      30'000'000;  // from the last rank's end to its worker's word on the device
  // Cancel and time limit: time to finish the step and to save. So that nothing outlives a lease,
  // at most two thirds of lease_grace_us.
  int64_t stop_grace_us = 10'000'000;
  int64_t lease_warning_us = 600'000'000;  // jobs are told so long before a lease ends them
  int64_t lease_grace_us = 30'000'000;     // before that moment they are stopped: time to save
  int64_t lease_clearance_us = job::kLeaseClearanceMicros;
  int64_t max_leases = 1000;                 // that are not over
  int64_t max_leases_of_user = 20;           // of those; operators may have more
  int64_t preemption_grace_us = 25'000'000;  // who gives way to another job: time to save
  int64_t failure_grace_us = 1'000'000;      // a rank failed or hangs: the others can't go on
  int64_t max_inspections = 3;               // of a job before it is placed, while nobody looks
  int64_t max_inspecting = 4;                // jobs at once
  int64_t max_inspecting_of_user = 2;        //
  SlownessPolicy slowness{};
  SitePolicy policy{};
  std::optional<base::WallMicros> lent_until{};  // loan.h; nullopt: the devices are the site's own
  std::string boot_id{};  // of the coordinator's host, whose steady clock it is
};

struct Rank {
  RankRow row;
  placement::DeviceId device = 0;       // its worker's, which stays while the attempt is live
  int64_t sequence = 0;                 // last report that had its effect
  int64_t unreadable = 0;               // messages, since this coordinator started
  base::SteadyMicros ended_steady = 0;  // of proven ranks
  bool over = false;  // its worker has said so at Hello: what it still reports is of the past
};

// The attempt of a STARTING, RUNNING or STOPPING job.
struct LiveAttempt {
  AttemptRow row;
  std::vector<Rank> ranks;
  base::SteadyMicros placed_steady = 0;  // by this start's steady clock
  base::SteadyMicros progress_steady =
      0;  // last step, phase or loaded byte of any rank; or its worker's return
  StepPace pace;
  GangPace gang_pace;
  std::optional<base::SteadyMicros> expected_end;  // run_length.h; nullopt: not known
  bool is_late = false;                            // that has passed
  bool may_give_way = false;  // it is preemptible, and has had its minimum (preempt.h)
  bool is_overdue = false;    // it was stopped, and has not ended in the time that it had
  std::optional<base::SteadyMicros> told_deadline;  // to its workers, last (last_moment.h)
  int64_t held = 0;  // devices, now, as they count (held.h); some are given back early (gang.cc)
};

// Where a QUEUED job waits. kNone: it can't be read, and waits for its cancellation. kLeased: for
// its lease to begin.
enum class Lane { kNone, kFollowing, kBounded, kUninspected, kLeased, kQueue };

// Whether a class of device will do for a job: not by its constraints, or not by its memory.
enum class Suits { kNo, kTooSmall, kYes };

struct Worker;

// Of a class, as far as a job's constraints reach (reach.h).
struct ReachCount {
  int64_t total = 0;    // free or not
  int64_t drained = 0;  // of those
  int64_t leased = 0;   // beside those: like them, but under a lease now
};
struct Reach {
  std::vector<const Worker*> barred;  // whose rules let no such job run, though else they would do
  struct Part {
    placement::DeviceSet devices;
    ReachCount count;
    // Where the job asks for links (linked_gangs.h), the most of one host that are linked so, not
    // above its number: leased ones are counted with those of no lease, or only open ones.
    int64_t linked = 0, open_linked = 0;
  };
  int64_t version = -1;  // of State::free, when it was found
  std::map<placement::ClassId, Part> parts;
};

// The classes that will do for a job (waiting.h), while these two are the same.
struct Usable {
  int64_t version = -1;  // of State::free
  int64_t lease = 0;     // of the job
  std::vector<placement::ClassId> possible, classes;
};

// The fewest devices that an exclusive job could hold (held.h), while that is the same.
struct LeastOfHosts {
  int64_t version = -1;  // of State::free
  int64_t devices = 0;
};

// What its attempts before mean for the job's next (retry.h).
struct Retry {
  int64_t failures = 0;                           // since an attempt got further than all before it
  int64_t furthest = 0;                           // step that an attempt has reached
  std::vector<std::string> failed_on;             // workers, the latest last
  base::SteadyMicros failed_at = 0;               // last
  std::optional<base::SteadyMicros> pause_until;  // of a QUEUED job, until a Tick has seen its end
};

// Why a job waited, from a time on.
struct ReasonSince {
  base::WallMicros at = 0;
  std::string text;
};

struct Job {
  JobRow row;
  JobStatus status;
  std::optional<LiveAttempt> attempt;
  Demand demand;                              // what `row` asks of devices
  Lane lane = Lane::kNone;                    // where it waits
  Queue::Length longest_run;                  // of a queued job (run_length.h)
  std::map<base::JobId, job::After> follows;  // that have not ended (dependencies.h)
  mutable std::vector<Suits> suits;           // by class, of `demand`: found when first asked for
  mutable Usable usable;                      // as it was asked for last
  mutable LeastOfHosts least_held;            // as it was asked for last
  // Its constraints name workers, or ask for links; found when first asked for (linked_gangs.h).
  mutable std::optional<bool> names_workers;
  mutable std::optional<job::Constraint> links;
  // Where its constraints name workers, or rules of hosts keep it away; found when first asked for,
  // and shared by jobs that name the same. null: it may go anywhere.
  mutable std::shared_ptr<const Reach> reach;
  mutable int64_t reach_version = -1;        // of State::free, when it was found
  int64_t lease = 0;                         // that it runs under; 0: none
  std::set<base::WallMicros> told;           // of leases that begin or end then
  int64_t failed_inspections = 0;            // nobody looked
  std::set<std::string> hosts_that_refused;  // that can't read its model or data
  std::string refusal;                       // of the first of them
  Retry retry;
  std::deque<ReasonSince> reasons;     // the last of them (reason_history.h)
  base::WallMicros watched_since = 0;  // why it waits is asked since then; 0: never
  std::set<std::string> avoids;        // workers whose devices it does not want (retry.h)
  int64_t unfit_launches = 0;  // attempts that a worker could not start, by no fault of the job's
  // In its place in the queue, of its owner or kLifted (fair_share.h); null: 0.
  const int64_t* share = nullptr;

  Place place() const { return {job::PriorityOf(row.spec), row.id, share == nullptr ? 0 : *share}; }
};

// The worker's last word on its device. kUnknown: none since a rank of ours started there.
enum class DeviceWord { kUnknown, kFree, kNotFree };

struct Worker {
  WorkerRow row;
  bool connected = false;
  base::SteadyMicros away_since = 0;  // of workers that are not connected
  bool lost = false;                  // away for lost_after
  bool host_restarted = false;        // since the holder was placed
  DeviceWord word = DeviceWord::kUnknown;
  std::string reason;  // of kNotFree
  // The rank placed here whose attempt has not ended. One that has ended itself may give the device
  // back before its attempt does (gang.cc).
  std::optional<job::RankKey> holder;
  std::vector<job::RankKey> strays;  // running ranks of ended attempts: being stopped
  placement::DeviceId device = 0;    // in State::free
  std::set<int64_t> faults_told;     // XIDs that its worker said last
  // Suspect ones that it said before it began anew; they count until the device was clean for long.
  std::set<int64_t> faults_of_past;
  base::SteadyMicros clean_since = 0;  // of those: its process's first Hello
  std::string incarnation;             // of that process; empty: unknown
  job::HostRules rules;                // as it said last; none before its first Hello
  std::string trouble;                 // as of HostTroubled
};

// Who looks at a job, for whom, since when.
struct Inspecting {
  std::string worker;
  std::string user;
  base::SteadyMicros since = 0;
};

// A group with a bound, while it has jobs that are not FINISHED (bounded_groups.h).
struct BoundedGroup {
  int64_t max_parallel = 0;
  int64_t unfinished = 0;
  std::set<base::JobId> under_way;
  std::set<Place> waiting;  // those that are QUEUED and wait for the others: they hold nothing
};

// What each user has used, as far as it counts for a fair share (fair_share.h).
struct Shares {
  // Of attempts that have ended, by user; the oldest too where they count little.
  std::map<std::string, std::vector<UseRow>> ended;
  base::WallMicros at = 0;             // when it was summed up last; 0: the site has no fair share
  std::map<std::string, int64_t> use;  // then: device-milliseconds, decayed; who is missing: 0
  std::map<std::string, int64_t> shares;  // of users who have had jobs since: Job::share is in it
  std::set<base::JobId> lifted;           // whose share is kLifted, where they are QUEUED still
  std::set<std::string> starving;         // then: users who may starve until the next sum
  bool starving_is_old = false;           // an end was told late, or who waited is gone
};

// A lease that is not over (leases.h).
struct Lease {
  LeaseRow row;
  bool active = false;         // it has begun and not ended: its devices are its jobs' only
  bool closing = false;        // about to end: nothing starts under it any more
  std::set<base::JobId> jobs;  // under it, that are not FINISHED
};

// By priority, the highest first; no set is empty.
using JobsOfUser = std::map<int64_t, std::set<base::JobId>, std::greater<>>;

// What a user's live jobs hold (held.h).
struct Held {
  int64_t devices = 0;
  std::map<base::SteadyMicros, int64_t> coming;  // of those, by when their jobs are expected to end
};

// What was found of when jobs start (forecast.h).
struct Foreseen {
  int64_t steps = -1;  // State::steps then
  base::SteadyMicros at = 0;
  std::map<base::JobId, base::SteadyMicros> starts;
  // Of those that were looked at and have no start: who holds them up, or they themselves.
  std::map<base::JobId, base::JobId> held_up;
};

struct State {
  Options options;
  int64_t steps = 0;         // that have changed it
  std::string site;          // tells job ids of this coordinator from those of others
  std::vector<JobGap> gaps;  // what became of these jobs this site does not know
  int64_t next_job = 1;
  int64_t next_group = 1;
  std::map<base::JobId, Job> jobs;                    // not FINISHED
  std::map<std::string, base::JobId> output_folders;  // that those jobs write to
  Queue queue;                  // those of them that are QUEUED and may be placed
  std::set<Place> uninspected;  // those that are QUEUED and looked at first: they hold nothing
  std::set<Place> following;    // those that are QUEUED and follow others: they hold nothing
  std::map<base::JobId, std::set<base::JobId>> followers;  // of each job that is followed
  std::map<base::GroupId, BoundedGroup> bounded_groups;
  std::map<base::JobId, Inspecting> inspecting;  // a worker is asked; its job may be gone by now
  std::map<base::JobId, Job*>
      live;  // those that are not: into `jobs`, whose nodes stay where they are
  std::set<base::JobId> preemptible;                          // of those the ones that allow it
  std::unordered_map<std::string, int64_t> live_jobs;         // of each user, where there are some
  std::unordered_map<std::string, JobsOfUser> jobs_of;        // of `jobs`, by user
  std::unordered_map<std::string, Held> held;                 // by user
  std::map<std::string, Worker> workers;                      // by name
  std::map<std::string, std::vector<Worker*>> hosts;          // each host's, into `workers`
  std::map<std::string, DrainRow> drains;                     // by target
  std::map<std::string, std::map<int64_t, FaultRow>> faults;  // by worker and XID
  std::map<std::string, SlowRow> slow;                        // by worker
  int64_t next_lease = 1;
  std::map<int64_t, Lease> leases;  // not over
  // Of each worker the leases whose end is to come, by their start: none overlap.
  std::map<std::string, std::map<base::WallMicros, int64_t>> leased;
  std::vector<Worker*> devices;  // by placement::DeviceId, into `workers`; null: it was removed
  placement::FreeDevices free;
  std::set<base::JobId> retrying;  // QUEUED after a failure (retry.h); some may have gone on since
  std::set<base::JobId> resting;   // nobody looked: asked again at the next Tick
  // At the next Tick. Whoever was placed may end before it must: then others fit behind it. Whoever
  // takes the devices of others needs those no more that it held. And the clock may be set back
  // while devices are about to be given back (loan.h).
  bool look_again = false;
  // Of a job the highest that a worker holds, where that is above all known: the disk lost it.
  std::map<base::JobId, int64_t> lost_attempts;
  mutable std::map<std::string, std::shared_ptr<const Reach>> reaches;  // by what jobs name
  mutable Foreseen foreseen;
  std::optional<base::SteadyMicros> reasons_asked;  // last (reason_history.h)
  base::WallMicros began_at = 0;                    // the coordinator, or it loaded all anew
  std::map<job::HostRules, int64_t>
      rules;  // of the workers, where they bound jobs; and of how many
  Shares shares;

  State() = default;
  State(State&&) = default;
  State& operator=(State&&) = default;
  State(const State&) = delete;
};

// Every device of the inventory, as checks of jobs want it.
std::vector<job::SiteDevice> Site(const State& state);

// Those of them that rules of their hosts leave to such a job of this user (reach.h).
std::vector<job::SiteDevice> SiteOf(const State& state, const std::string& user,
                                    const job::JobSpec& spec);

// nullptr: FINISHED, or never there.
const Job* FindJob(const State& state, base::JobId job);

// Whether the site's backup was written before the number was given, if it was.
bool IsInGap(const State& state, base::JobId job);

// Jobs of this coordinator that have ended, and that the spec names or whose folder its output.dir
// is or overlaps. It may take over their folder.
std::vector<std::string> EndedJobs(const State& state, const job::JobSpec& spec,
                                   const std::optional<job::Inspection>& inspection);

// The exclusive job that has the host to itself, or null.
const Job* OwnerOfHost(const State& state, const std::string& host);

// The job that has the worker's device: by a rank there, or with its whole host.
std::optional<base::JobId> HolderOf(const State& state, const Worker& worker);

// Why nothing new is placed on the worker's device; nullptr: it is not drained.
const DrainRow* DrainOf(const State& state, const WorkerRow& worker);

// Faults of the worker's device that its driver told, the gravest first (faults.h).
std::vector<const FaultRow*> FaultsOf(const State& state, const std::string& worker);
bool KeepsOut(const FaultRow& fault);  // new jobs are kept away by it
// The gravest that keeps new jobs away; nullptr: none does.
const FaultRow* WorstFault(const State& state, const std::string& worker);
// Of one that keeps new jobs away: kBad or kSuspect; and what it is, when, and what ends it.
job::WorkerState StateOf(const FaultRow& fault);
std::string FaultText(const FaultRow& fault);
// Where the worker's device was slower than its gang (slowness.h); nullptr: it was not. In words.
const SlowRow* SlownessOf(const State& state, const std::string& worker);
std::string SlownessText(const SlowRow& slow);
// Nothing new is placed on the worker's device: it is drained, or has a fault.
bool IsKeptOut(const State& state, const WorkerRow& worker);

// The jobs that have the device of the worker, or one of the host, that is called so.
std::vector<base::JobId> JobsOn(const State& state, const std::string& target);

// " by ann: a fan is broken", as far as it is known.
std::string DrainText(const DrainRow& drain);

// Whether a worker or a host is called so.
bool IsTarget(const State& state, const std::string& name);

job::WorkerState StateOf(const State& state, const Worker& worker);

// Of kDirty, and of a faulty or drained device: why, in plain words; whether it was slower than its
// gang, and who has leased it next. Else empty.
std::string WorkerReason(const State& state, const Worker& worker);

// The job with a live attempt that has a rank there, though that rank may have ended; or none.
std::optional<base::JobId> LiveJobOn(const State& state, const Worker& worker);

// Whether it may leave the inventory: it is not connected, and no live attempt names it.
bool MayBeRemoved(const State& state, const Worker& worker);

// The worker's device, as constraints speak of it.
job::SiteDevice SiteDeviceOf(const WorkerRow& worker);

// Over the ranks of the live attempt; of a queued job: what its status kept.
JobProgress Progress(const Job& job);

// Until the live attempt's last step, at the pace of its steps so far: its loading counts for
// nothing. While a worker is away its rank is taken to keep that pace. nullopt: it has told of no
// step yet, or has made the last one.
std::optional<double> RemainingSeconds(const State& state, const Job& job, const Now& now);

// How long the job's live attempt goes on, by what comes first. That is its last step
// (RemainingSeconds; as predicted before a step is made), or its end by its time limit or for a
// lease.
enum class Bound { kSteps, kPrediction, kTimeLimit, kLease };
struct TimeLeft {
  double seconds = 0;
  Bound by = Bound::kSteps;
};
// nullopt: not known, as behind the last step, or it is being stopped.
std::optional<TimeLeft> TimeLeftOf(const State& state, const Job& job, const Now& now);

// When a job that waits is expected to start: a prediction, by the expected ends of other jobs, and
// of those that go before it in the queue. nullopt: not known.
std::optional<base::SteadyMicros> PredictedStart(const State& state, const Job& job,
                                                 const Now& now);

// Why a job is where it is, in plain words; empty if there is nothing to say (RUNNING).
//   QUEUED    "waits for 4 devices: 2 of 4 free; j7 (2 devices, about 12 min left)"
//             "behind j3, which waits for 4 devices", …
//   STARTING  "joining: waits for rank 2 on b/0", "trial of micro batch 16",
//             "loading 1.2 of 13.5 GiB", …
//   STOPPING  "waits for rank 2 on worker b/0, which is LOST", …
std::string Reason(const State& state, const Job& job, const Now& now);

}  // namespace trainctl::core
