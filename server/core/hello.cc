// A worker says who it is and what it holds: the site takes it up again.
#include <algorithm>
#include <string>
#include <tuple>
#include <utility>

#include "server/core/faults.h"
#include "server/core/gang.h"
#include "server/core/handlers.h"
#include "server/core/last_moment.h"
#include "server/core/slowness.h"
#include "server/core/workers.h"

namespace trainctl::core {
namespace {

// Why this is not the worker of that name, in words for its host; empty: it is, or may be now.
std::string WhyForeign(const State& state, const WorkerHello& event) {
  const auto found = state.workers.find(event.worker.name);
  if (found == state.workers.end()) return "";
  const Worker& known = found->second;
  if (known.row.identity.empty() || known.row.identity == event.worker.identity) return "";
  const std::string other = "the name '" + known.row.name +
                            "' is of a worker with another folder, on host " + known.row.host;
  if (!known.lost)
    return other + ", which is not LOST: give this worker a name of its own (--name)";
  if (!known.holder) return "";
  return other + ", whose end is not known, nor that of its rank of " +
         base::ToString(known.holder->job) +
         "; where nothing runs there any more: trainctl fence " + known.row.name;
}

// Why this worker, known by another name, can't have a new one yet; empty: it can. Its ranks are
// that one's, and would be ended as strays.
std::string WhyRenamed(const State& state, const WorkerHello& event) {
  if (event.worker.identity.empty()) return "";
  for (const auto& [name, known] : state.workers) {
    const bool is_this = known.row.identity == event.worker.identity && name != event.worker.name;
    if (!is_this || !known.holder) continue;
    return "this folder's worker is '" + name + "', and its rank of " +
           base::ToString(known.holder->job) + " has not ended: start it with --name " + name +
           ", at least until then";
  }
  return "";
}

// A rank that another coordinator had started; nullptr: none is known to be.
const HeldRank* FindForeignRank(const State& state, const WorkerHello& event) {
  const auto found = std::ranges::find_if(event.held, [&](const HeldRank& held) {
    return !held.site.empty() && held.site != state.site;
  });
  return found == event.held.end() ? nullptr : &*found;
}

// Why this worker is not taken up; empty: it is.
std::string WhyRefused(const State& state, const WorkerHello& event) {
  const HeldRank* foreign = FindForeignRank(state, event);
  if (foreign == nullptr) {
    std::string why = WhyForeign(state, event);
    return why.empty() ? WhyRenamed(state, event) : why;
  }
  return "it holds " + job::ToString(foreign->key) + " of another coordinator (site " +
         foreign->site +
         "): start this worker with that one's address, or with a folder of its "
         "own (--dir); where that one is gone for good, end the rank's trainshim and remove its "
         "folder under ranks/";
}

// Whether the store has the row, but for when the worker was seen. Where the disk is full, a worker
// that only comes back needs no room on it.
bool IsStored(const State& state, const WorkerRow& row) {
  const auto key = [](const WorkerRow& of) {
    const job::Device& device = of.device;
    return std::tie(of.host, of.boot_id, of.version, of.address, of.identity, device.kind,
                    device.index, device.uuid, device.name, device.memory_bytes,
                    device.compute_capability, device.driver, device.threads, device.labels,
                    device.host_memory_bytes, device.links);
  };
  const auto found = state.workers.find(row.name);
  return found != state.workers.end() && key(found->second.row) == key(row);
}

// What is known of the device before says nothing of it.
void ForgetOtherDevice(Turn& turn, const WorkerRow& row) {
  const auto faults = turn.state.faults.find(row.name);
  if (faults != turn.state.faults.end() &&
      faults->second.begin()->second.device_uuid != row.device.uuid)
    ForgetFaults(turn, row.name);
  const SlowRow* slow = SlownessOf(turn.state, row.name);
  if (slow != nullptr && slow->device_uuid != row.device.uuid) ForgetSlowness(turn, row.name);
}

const HeldRank* FindHeld(const WorkerHello& event, const job::RankKey& key) {
  const auto held = std::find_if(event.held.begin(), event.held.end(),
                                 [&](const HeldRank& candidate) { return candidate.key == key; });
  return held == event.held.end() ? nullptr : &*held;
}

// More is lost on no disk: whoever says so errs.
constexpr int64_t kMostLostJobs = 100'000;
constexpr int64_t kLastAttempt = 1 << 30;

// The disk may have lost an attempt whose rank the worker holds, or its whole job. No number of
// theirs is given again. Reports of the old rank would be taken for the new one's.
void NoteLostAttempt(State& state, const job::RankKey& key) {
  const int64_t jobs_between = key.job.value - state.next_job;
  if (jobs_between >= 0 && jobs_between < kMostLostJobs) state.next_job = key.job.value + 1;
  const Job* job = FindJob(state, key.job);
  const bool is_lost =
      job == nullptr ? key.job.value >= state.next_job : key.attempt > job->status.attempt;
  if (!is_lost || key.attempt > kLastAttempt) return;
  int64_t& last = state.lost_attempts[key.job];
  last = std::max(last, key.attempt);
}

// Ranks that the worker holds and that are not its to hold: stopped, or released where they have
// ended.
void DealWithStrays(Turn& turn, Worker& worker, const WorkerHello& event) {
  worker.strays.clear();
  for (const HeldRank& held : event.held) {
    const LiveRank live = FindLiveRank(turn.state, held.key);
    const bool is_ours = live.rank != nullptr && live.rank->row.worker == worker.row.name &&
                         live.rank->row.proof == Proof::kNone;
    if (is_ours) continue;
    NoteLostAttempt(turn.state, held.key);
    if (held.running) {
      worker.strays.push_back(held.key);
      turn.Perform(StopRank{worker.row.name, held.key, turn.state.options.failure_grace_us});
    } else {
      turn.Perform(ReleaseRank{worker.row.name, held.key});
    }
  }
}

void TakeUpRunning(Turn& turn, Job& job, Rank& rank) {
  rank.row.confirmed = true;
  WorkerOf(turn.state, rank).word =
      DeviceWord::kUnknown;  // not free while the rank runs; its end brings a word
  SaveRank(turn, rank);
  const std::optional<Stop>& stop = job.attempt->row.stop;
  if (stop) {
    turn.Perform(StopRank{rank.row.worker, rank.row.key, stop->grace_us});
  } else {
    TellDeadline(turn, job, rank);
    SendPeersIfNeeded(turn, *job.attempt, rank);
  }
}

// Its start was lost on the way. Somebody else may have taken the device since, or a rank is there
// that the disk forgot: then the job goes elsewhere.
void StartAgain(Turn& turn, Job& job, Rank& rank) {
  const Worker& worker = WorkerOf(turn.state, rank);
  if (worker.word == DeviceWord::kFree) {
    RenewDeadline(turn, job);  // it is told with the start, and withdrawn where it holds no more
    return SendStart(turn, job, rank);
  }
  rank.row.failure =
      "its device is not free any more" + (worker.reason.empty() ? "" : ": " + worker.reason);
  EndRank(turn, job, rank, Proof::kWorkerUnfit);
}

void TakeUpMissing(Turn& turn, Job& job, Rank& rank) {
  if (!rank.row.confirmed && !job.attempt->row.stop) return StartAgain(turn, job, rank);
  if (!rank.row.confirmed) return EndRank(turn, job, rank, Proof::kNeverStarted);
  EndRank(turn, job, rank,
          WorkerOf(turn.state, rank).host_restarted ? Proof::kHostRestarted : Proof::kRecordGone);
}

// The rank that the worker should hold, as it does or does not. One that ended there has its exit
// among the reports to come.
void TakeUpHolder(Turn& turn, Worker& worker, const WorkerHello& event) {
  const LiveRank live = FindLiveRank(turn.state, *worker.holder);
  live.job->attempt->progress_steady = turn.now.steady;
  turn.changed.insert(live.job->row.id);
  if (live.rank->row.proof != Proof::kNone) return EndAttemptIfSettled(turn, *live.job);
  const HeldRank* held = FindHeld(event, live.rank->row.key);
  if (held == nullptr) return TakeUpMissing(turn, *live.job, *live.rank);
  if (held->running) return TakeUpRunning(turn, *live.job, *live.rank);
  live.rank->over = true;
}

Welcome MakeWelcome(State& state, const WorkerHello& event) {
  Welcome welcome{event.worker.name, {}};
  for (const HeldRank& held : event.held) {
    const Rank* rank = FindLiveRank(state, held.key).rank;
    if (rank != nullptr) welcome.acks.push_back({held.key, rank->sequence});
  }
  return welcome;
}

}  // namespace

void Handle(Turn& turn, const WorkerHello& event) {
  if (std::string why = WhyRefused(turn.state, event); !why.empty())
    return turn.Perform(RefuseWorker{event.worker.name, {base::Code::kConflict, std::move(why)}});
  const bool is_stored = IsStored(turn.state, event.worker);
  ForgetOtherDevice(turn, event.worker);
  Worker& worker = DescribeWorker(turn.state, event.worker);
  SetRules(turn.state, worker, event.rules);
  if (worker.lost && worker.holder)
    Say(turn, worker.holder->job, "worker " + worker.row.name + " is back");
  worker.row.last_seen = turn.now.wall;
  worker.connected = true;
  worker.lost = false;
  worker.word = event.device_free ? DeviceWord::kFree : DeviceWord::kNotFree;
  worker.reason = event.device_reason;
  if (!is_stored) turn.Persist(worker.row);
  turn.Perform(MakeWelcome(turn.state, event));
  turn.placement_may_change = true;  // it may look at jobs, though it be busy
  DealWithStrays(turn, worker, event);
  RememberSuspicion(turn, worker, event.incarnation);
  TakeFaults(turn, worker, event.faults);
  if (worker.holder) TakeUpHolder(turn, worker, event);
  UpdateFree(turn, worker);
}

}  // namespace trainctl::core
