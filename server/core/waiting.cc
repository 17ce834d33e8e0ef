#include "server/core/waiting.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "server/core/ahead.h"
#include "server/core/bounded_groups.h"
#include "server/core/dependencies.h"
#include "server/core/inspect.h"
#include "server/core/leases.h"
#include "server/core/linked_gangs.h"
#include "server/core/loan.h"
#include "server/core/quota.h"
#include "server/core/reach.h"
#include "server/core/retry.h"
#include "server/core/run_length.h"

namespace trainctl::core {
namespace {

using placement::ClassId;
using placement::FreeDevices;

job::SiteDevice Example(const placement::DeviceClass& device_class) {
  return {device_class.kind, std::string(job::Name(device_class.kind)), device_class.name,
          device_class.memory_bytes, device_class.compute_capability};
}

// A device whose size is not known has.
bool HasRoom(const Demand& demand, const placement::DeviceClass& device_class) {
  const int64_t need =
      device_class.kind == job::DeviceKind::kCuda ? demand.gpu_bytes : demand.slot_bytes;
  return device_class.memory_bytes == 0 || need <= device_class.memory_bytes;
}

Suits FindSuits(const Job& job, const placement::DeviceClass& device_class) {
  std::string reason;
  if (!job::MeetsDeviceConstraints(job.row.spec, Example(device_class), &reason)) return Suits::kNo;
  return HasRoom(job.demand, device_class) ? Suits::kYes : Suits::kTooSmall;
}

std::string Devices(int64_t count) {
  return std::to_string(count) + (count == 1 ? " device" : " devices");
}

// " (gpu.links =NVLink, host =node1; not on b: data.path: …)", where the job asks for links, names
// workers or rules keep it away.
std::string WithWhom(const State& state, const Job& job) {
  std::string text = LinksText(job);
  if (const std::string workers = job::WorkersText(job.row.spec); !workers.empty())
    text += (text.empty() ? "" : ", ") + workers;
  if (const std::string why = WhyBarred(state, job); !why.empty())
    text += (text.empty() ? "not on " : "; not on ") + why;
  if (const std::string where = AvoidedText(job); !where.empty())
    text += (text.empty() ? "not on " : "; not on ") + where;
  return text.empty() ? "" : " (" + text + ")";
}

// Where devices that are linked as the job asks are too few: "; the site has at most 2 such".
std::string LinkedShortage(const State& state, const Job& job, const std::string& whole) {
  const Reach* reach = LinksOf(job) ? ReachOf(state, job) : nullptr;
  int64_t most = 0;
  for (size_t id = 0; reach != nullptr && id < state.free.pools().size(); ++id) {
    const Reach::Part* part = PartOf(*reach, static_cast<ClassId>(id));
    if (part != nullptr && state.free.pools()[id].device_class.lease == job.lease)
      most = std::max(most, part->linked);
  }
  if (most == 0 || most >= job.row.spec.devices) return "";
  return "; of devices of one host that are linked so " + whole + " has " +
         (most == 1 ? "none" : "at most " + std::to_string(most));
}

// Why no class will ever do for the job as the site is.
std::string WhyUnplaceable(const State& state, const Job& job) {
  const job::JobSpec& spec = job.row.spec;
  if (state.workers.empty()) return "no worker is registered";
  const Lease* lease = FindLease(state, job.lease);
  const std::string whole = lease == nullptr ? "the site" : LeaseText(lease->row);
  std::string reason;
  int64_t most = 0;
  bool has_device = false;
  const std::vector<FreeDevices::Pool>& pools = state.free.pools();
  for (size_t id = 0; id < pools.size(); ++id) {
    if (pools[id].device_class.lease != job.lease ||
        !job::MeetsDeviceConstraints(spec, Example(pools[id].device_class), &reason))
      continue;
    has_device |= pools[id].total + pools[id].leased > 0;
    const ReachCount count = CountOf(state, job, static_cast<ClassId>(id));
    most = std::max(most, count.total + count.leased);
  }
  if (const std::string shortage = LinkedShortage(state, job, whole); !shortage.empty())
    return "needs " + Devices(spec.devices) + WithWhom(state, job) + shortage;
  const std::string barred = WhyBarred(state, job);
  if (most == 0 && has_device && !barred.empty())
    return "no worker of " + whole + " lets it run: not on " + barred;
  if (most == 0 && has_device)
    return "no worker of " + whole + " meets its constraints: " + job::WorkersText(spec);
  if (most == 0) return "no device of " + whole + " meets its constraints: " + reason;
  return "needs " + Devices(spec.devices) + " of one model" + WithWhom(state, job) + "; " + whole +
         " has " + std::to_string(most);
}

// What the job waits for: "4 devices (host =node1)", "a host of its own".
std::string Wanted(const State& state, const Job& job) {
  const job::JobSpec& spec = job.row.spec;
  if (!spec.exclusive) return Devices(spec.devices) + WithWhom(state, job);
  const std::string hosts =
      spec.devices == 1 ? "a host of its own" : Devices(spec.devices) + " on hosts of its own";
  return hosts + WithWhom(state, job);
}

// Of jobs that have what the first one waits for: "; when j1 ends is not known (it has no time
// limit)". Nobody passes it then.
std::string WhoseEndIsNotKnown(const State& state, const Job& first) {
  const std::vector<ClassId> wanted = WantedClasses(state, first);
  std::string text;
  int64_t others = 0;
  for (const auto& [id, live] : state.live) {
    const ClassId own = state.free.entry(live->attempt->ranks.front().device).device_class;
    if (live->attempt->expected_end || std::ranges::count(wanted, own) == 0) continue;
    if (text.empty()) {
      text = "; when " + base::ToString(id) + " ends is not known (it has no time limit)";
    } else {
      ++others;
    }
  }
  if (others == 0) return text;
  return text + ", nor of " + std::to_string(others) + (others == 1 ? " other" : " others");
}

std::string BehindWhom(const State& state, const Job& job, const Ahead& ahead, const Now& now) {
  const Job& blocker = *ahead.blocker;
  std::string text =
      "behind " + base::ToString(blocker.row.id) + ", which waits for " + Wanted(state, blocker);
  int64_t rest = 0;
  bool could_pass = false;  // were it known when that one starts
  for (const ClassId id : WantedClasses(state, job)) {
    const Hold* hold = ahead.holds.Find(id, blocker.row.id);
    if (hold == nullptr) continue;
    could_pass |= !hold->start && FreeOf(state, job, id) >= job.row.spec.devices;
    rest = std::max(rest, hold->start.value_or(now.steady) - now.steady);
  }
  if (rest > 0) text += ", " + AboutMinutes(rest) + " more";
  if (could_pass && !job.row.spec.exclusive) text += WhoseEndIsNotKnown(state, blocker);
  const int64_t minutes = MinutesThatPass(state, job, ahead, now);
  if (minutes == 0) return text;
  return text + "; a time limit of at most " + WholeMinutes(minutes) + " would let it start before";
}

// Whether the job could use a device of these workers, which are a host's.
bool HasClass(const State& state, const Job& job, const std::vector<Worker*>& workers,
              const std::vector<ClassId>& classes) {
  return std::ranges::any_of(workers, [&](const Worker* worker) {
    const ClassId own = state.free.entry(worker->device).device_class;
    return std::ranges::find(classes, own) != classes.end() && Reaches(state, job, worker->device);
  });
}

struct Holding {
  int64_t devices = 0;
  base::SteadyMicros until = std::numeric_limits<base::SteadyMicros>::max();  // as is expected
};
using Holdings = std::map<base::JobId, Holding>;

// Leaves those that are expected to end first. Returns what the others are: "; 3 other jobs have
// 7".
std::string KeepFirstToEnd(Holdings& jobs) {
  constexpr size_t kNamed = 8;
  if (jobs.size() <= kNamed) return "";
  std::vector<std::pair<base::SteadyMicros, base::JobId>> ends;
  for (const auto& [id, holding] : jobs) ends.emplace_back(holding.until, id);
  std::ranges::nth_element(ends, ends.begin() + kNamed);
  int64_t devices = 0;
  for (auto end = ends.begin() + kNamed; end != ends.end(); ++end) {
    devices += jobs.at(end->second).devices;
    jobs.erase(end->second);
  }
  const size_t others = ends.size() - kNamed;
  return "; " + std::to_string(others) + (others == 1 ? " other job has " : " other jobs have ") +
         std::to_string(devices);
}

// Who has the class's devices that are not free: "; j7 has 2, about 12 min left; 1 LOST".
std::string WhoHas(const State& state, const Job& waiting, ClassId id, const Now& now) {
  Holdings jobs;
  std::map<std::string_view, int64_t> others;
  for (const auto& [name, worker_of_site] : state.workers) {
    const Worker* worker = &worker_of_site;
    const FreeDevices::Entry& entry = state.free.entry(worker->device);
    if (entry.device_class != id || entry.free) continue;
    if (!Reaches(state, waiting, worker->device)) continue;
    if (const std::optional<base::JobId> holder = HolderOf(state, *worker)) {
      Holding& holding = jobs[*holder];
      ++holding.devices;
      if (entry.coming) holding.until = std::min(holding.until, *entry.coming);
    } else {
      ++others[Name(StateOf(state, *worker))];
    }
  }
  const std::string rest = KeepFirstToEnd(jobs);
  std::string text;
  for (const auto& [id_of_job, holding] : jobs) {
    const Job& job = state.jobs.at(id_of_job);
    text += "; " + base::ToString(id_of_job) + " has " + std::to_string(holding.devices) +
            (job.row.spec.exclusive ? " (exclusive)" : "") +
            (job.status.state == job::JobState::kStopping ? ", being stopped"
                                                          : TimeLeftText(state, job, now));
  }
  text += rest;
  for (const auto& [name, count] : others)
    text += "; " + std::to_string(count) + " " + std::string(name);
  return text;
}

// What keeps so many devices out that too few are left: "3 of 4 are drained: vm by ann: a fan is
// broken", or "… are kept out: vm/0 is BAD: XID 79 (…)". Of the class that has most.
std::string WhoDrained(const State& state, const Job& job, const std::vector<ClassId>& possible) {
  const ClassId most = *std::ranges::max_element(
      possible, {}, [&](ClassId id) { return CountOf(state, job, id).total; });
  const ReachCount count = CountOf(state, job, most);
  std::set<std::string> targets;
  std::string who;
  bool has_fault = false;
  const auto add = [&](const std::string& target, const std::string& why) {
    if (targets.insert(target).second) who += (targets.size() == 1 ? ": " : "; ") + target + why;
  };
  for (const auto& [name, worker] : state.workers) {
    const DrainRow* drain = DrainOf(state, worker.row);
    const FaultRow* fault = WorstFault(state, name);
    if (state.free.entry(worker.device).device_class != most) continue;
    if (!Reaches(state, job, worker.device)) continue;
    if (fault != nullptr) {
      has_fault = true;
      add(name, " is " + std::string(Name(StateOf(*fault))) + ": " + FaultText(*fault));
    } else if (drain != nullptr) {
      add(drain->target, DrainText(*drain));
    }
  }
  return std::to_string(count.drained) + " of " + std::to_string(count.total) +
         (has_fault ? " are kept out" : " are drained") + who;
}

std::string LeaseSpan(const Lease& lease) {
  return LeaseText(lease.row) + " (" + UtcText(lease.row.start) + " to " + UtcText(lease.row.end) +
         ")";
}

// Of those that are free the ones that jobs ahead, which name workers, keep for themselves.
std::string WhoKeeps(const Holds& holds, ClassId id, const Job& job) {
  const int64_t kept = holds.KeptFrom(id, job);
  if (kept == 0) return "";
  return "; " + std::to_string(kept) + " of them kept for jobs that go first";
}

// Leases that have devices like those of the class now, or that want free ones before the job would
// end: "; lease 'lab' of ann (2026-12-01 14:00 UTC to …) has 2".
std::string WhoLeased(const State& state, const Job& job, ClassId id, const Now& now) {
  std::map<int64_t, int64_t> has, wants;
  placement::DeviceClass wanted = state.free.pools()[id].device_class;
  if (wanted.lease != 0) return "";
  for (const auto& [name, worker] : state.workers) {
    const FreeDevices::Entry& entry = state.free.entry(worker.device);
    placement::DeviceClass own = state.free.pools()[entry.device_class].device_class;
    const int64_t lease = std::exchange(own.lease, 0);
    if (own == wanted && lease != 0 && Reaches(state, job, worker.device)) ++has[lease];
  }
  for (const placement::DeviceId device : BarredDevices(state, id, job, now)) {
    if (Reaches(state, job, device))
      ++wants[NextLeaseOf(state, state.devices[device]->row.name)->row.id];
  }
  std::string text;
  for (const auto& [lease, count] : has)
    text += "; " + LeaseSpan(state.leases.at(lease)) + " has " + std::to_string(count);
  for (const auto& [lease, count] : wants) {
    text += "; " + LeaseSpan(state.leases.at(lease)) + " wants " + std::to_string(count) +
            " of them before this job would end";
  }
  return text;
}

// Of the first job that waits: what it could do to start before a lease.
std::string WhatFitsBefore(const State& state, const Job& job, const Ahead& ahead, const Now& now) {
  const int64_t minutes = MinutesThatPass(state, job, ahead, now);
  if (minutes == 0) return "";
  return "; a time limit of at most " + WholeMinutes(minutes) + " would let it start now";
}

// Why too few devices are left though none is in use: they are leased, or drained.
std::string WhoTook(const State& state, const Job& job, const std::vector<ClassId>& possible,
                    const Now& now) {
  const ClassId most = *std::ranges::max_element(
      possible, {}, [&](ClassId id) { return CountOf(state, job, id).leased; });
  if (CountOf(state, job, most).leased == 0) return WhoDrained(state, job, possible);
  std::string text = WhoLeased(state, job, most, now).substr(2);
  if (CountOf(state, job, most).drained > 0) text += "; " + WhoDrained(state, job, {most});
  return text;
}

// "slot 0 of vm".
std::string DeviceText(const WorkerRow& worker) {
  return (worker.device.kind == job::DeviceKind::kCpu ? "slot " : "device ") +
         std::to_string(worker.device.index) + " of " + worker.host;
}

// Why an exclusive job can't have the worker's host, or its device; empty: it could.
std::string Obstacle(const State& state, const Job& job, const Worker& worker, const Now& now) {
  const std::string device = DeviceText(worker.row);
  const ClassId id = state.free.entry(worker.device).device_class;
  const Lease* next = NextLeaseOf(state, worker.row.name);
  if (next != nullptr && !next->active &&
      !IsClear(state, worker, LengthAmongLeases(state, job, id), now))
    return LeaseSpan(*next) + " wants " + device + " before this job would end";
  if (worker.holder) {
    return base::ToString(worker.holder->job) + " holds " + device +
           TimeLeftText(state, *state.live.at(worker.holder->job), now);
  }
  if (!worker.strays.empty()) {
    const job::RankKey& stray = worker.strays.front();
    const bool is_own = stray.job == job.row.id;
    return "a rank of " +
           (is_own ? "its attempt " + std::to_string(stray.attempt) : base::ToString(stray.job)) +
           " is being ended on " + device;
  }
  if (!worker.connected) {
    return "worker " + worker.row.name + " is away, and what runs there is not known (trainctl " +
           "workers remove " + worker.row.name + ", if it does not come back)";
  }
  const Lease* lease = ActiveLeaseOf(state, worker.row.name);
  if (lease != nullptr && lease->row.id != job.lease) return LeaseSpan(*lease) + " has " + device;
  return worker.word == DeviceWord::kFree && !IsKeptOut(state, worker.row)
             ? ""
             : device + " is " + std::string(Name(StateOf(state, worker)));
}

// What is in the way of an exclusive job on the hosts that it could use: the first few.
std::string Obstacles(const State& state, const Job& job, const std::vector<ClassId>& usable,
                      const Now& now) {
  constexpr int kMost = 4;
  std::string text;
  int count = 0;
  for (const auto& [host, workers] : state.hosts) {
    if (!HasClass(state, job, workers, usable)) continue;
    for (const Worker* worker : workers) {
      const std::string obstacle = Obstacle(state, job, *worker, now);
      if (obstacle.empty()) continue;
      if (++count > kMost) return text + "; …";
      text += (text.empty() ? ": " : "; ") + obstacle;
    }
  }
  return text;
}

}  // namespace

bool LeavesHostEmpty(const Worker& worker) {
  return worker.connected && !worker.holder && worker.strays.empty();
}

std::vector<ClassId> WantedClasses(const State& state, const Job& job) {
  const std::vector<ClassId> usable = UsableClasses(state, job);
  if (!job.row.spec.exclusive) return usable;
  std::set<ClassId> wanted(usable.begin(), usable.end());
  for (const auto& [host, workers] : state.hosts) {
    if (!HasClass(state, job, workers, usable)) continue;
    for (const Worker* worker : workers) {
      const ClassId id = state.free.entry(worker->device).device_class;
      if (state.free.pools()[id].device_class.lease == job.lease) wanted.insert(id);
    }
  }
  return {wanted.begin(), wanted.end()};
}

namespace {

// Those of its lease, or of any.
std::vector<ClassId> SuitableClasses(const State& state, const Job& job, bool any_lease) {
  std::vector<ClassId> usable, roomy;
  const std::vector<FreeDevices::Pool>& pools = state.free.pools();
  while (job.suits.size() < pools.size())
    job.suits.push_back(FindSuits(job, pools[job.suits.size()].device_class));
  for (size_t id = 0; id < pools.size(); ++id) {
    const int64_t lease = pools[id].device_class.lease;
    if (!any_lease && lease != job.lease) continue;
    if (job.suits[id] == Suits::kNo) continue;
    const ReachCount count = CountOf(state, job, static_cast<ClassId>(id));
    const bool is_enough = any_lease && lease != 0
                               ? count.total > 0
                               : count.total + count.leased >= job.row.spec.devices;
    if (!is_enough || (!any_lease && !HasGang(state, job, static_cast<ClassId>(id)))) continue;
    usable.push_back(static_cast<ClassId>(id));
    if (job.suits[id] == Suits::kYes) roomy.push_back(static_cast<ClassId>(id));
  }
  return roomy.empty() ? usable : roomy;
}

const Usable& UsableOf(const State& state, const Job& job) {
  Usable& usable = job.usable;
  if (usable.version == state.free.version() && usable.lease == job.lease) return usable;
  usable = {state.free.version(), job.lease, SuitableClasses(state, job, false), {}};
  std::ranges::copy_if(usable.possible, std::back_inserter(usable.classes), [&](ClassId id) {
    const ReachCount count = CountOf(state, job, id);
    return count.total - count.drained >= job.row.spec.devices &&
           HasGang(state, job, id, /*open=*/true);
  });
  return usable;
}

}  // namespace

const std::vector<ClassId>& PossibleClasses(const State& state, const Job& job) {
  return UsableOf(state, job).possible;
}

std::vector<ClassId> ClassesOfAnyLease(const State& state, const Job& job) {
  return SuitableClasses(state, job, true);
}

const std::vector<ClassId>& UsableClasses(const State& state, const Job& job) {
  return UsableOf(state, job).classes;
}

std::string WaitReason(const State& state, const Job& job, const Now& now) {
  const job::JobSpec& spec = job.row.spec;
  if (job.row.unreadable) {
    return "its stored job file can't be read by this coordinator, so it is not started: " +
           job.row.unreadable->why + "; trainctl cancel " + base::ToString(job.row.id) + " ends it";
  }
  if (IsClosing(state, now)) return LoanReason(state);
  if (job.lane == Lane::kLeased) return LeaseReason(state, job, now);
  const std::vector<ClassId> possible = PossibleClasses(state, job);
  const Lease* lease = FindLease(state, job.lease);
  const bool may_be_told = lease == nullptr || IsOpen(*lease);
  if (possible.empty() && may_be_told) return WhyUnplaceable(state, job);
  if (ExceedsQuota(state, job)) return ExceedsReason(state, job);
  if (job.lane == Lane::kFollowing) return FollowingReason(state, job);
  if (job.lane == Lane::kBounded) return GroupReason(state, job);
  if (job.lane == Lane::kUninspected) return InspectionReason(state, job, now);
  if (job.retry.pause_until) return PauseReason(job);
  if (possible.empty()) return WhyUnplaceable(state, job);
  const std::vector<ClassId> usable = UsableClasses(state, job);
  if (usable.empty())
    return "waits for " + Wanted(state, job) + ": " + WhoTook(state, job, possible, now);
  const Ahead ahead = LookAhead(state, job, now);
  const int64_t denied = DeniedByQuota(job, state, ahead, now);
  if (!ahead.quotas.Yields(job) || denied > 0)
    return QuotaReason(state, job, ahead.quotas, now, spec.exclusive ? denied : 0);
  if (ahead.blocker != nullptr) return BehindWhom(state, job, ahead, now);
  if (spec.exclusive) return "waits for " + Wanted(state, job) + Obstacles(state, job, usable, now);
  const auto best =
      *std::max_element(usable.begin(), usable.end(), [&](ClassId left, ClassId right) {
        return FreeOf(state, job, left) < FreeOf(state, job, right);
      });
  return "waits for " + Wanted(state, job) + ": " + std::to_string(FreeOf(state, job, best)) +
         " of " + std::to_string(CountOf(state, job, best).total) + " free" +
         FreeLinkedText(state, job, best) + WhoKeeps(ahead.holds, best, job) +
         WhoHas(state, job, best, now) + WhoLeased(state, job, best, now) +
         WhatFitsBefore(state, job, ahead, now);
}

}  // namespace trainctl::core
