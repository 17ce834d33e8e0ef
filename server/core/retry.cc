#include "server/core/retry.h"

#include <algorithm>
#include <functional>
#include <set>
#include <utility>
#include <vector>

#include "common/base/size.h"
#include "common/job/held_devices.h"
#include "server/core/inspect.h"
#include "server/core/linked_gangs.h"
#include "server/core/quota.h"
#include "server/core/reach.h"
#include "server/core/waiting.h"

namespace trainctl::core {
namespace {

constexpr int64_t kSecond = 1'000'000;
constexpr int64_t kLongestPause = 300 * kSecond;
constexpr int64_t kHeldPause = 30 * kSecond;  // the end of a pause, for which devices are held
constexpr int64_t kSoon = 300 * kSecond;      // it is worth while to wait for another device
constexpr int64_t kWaitsFor = 600 * kSecond;  // so long at most, after the failure

int64_t PauseAfter(int64_t failures) {
  constexpr int64_t kDoublings = 9;
  return std::min(kLongestPause, kSecond << std::clamp<int64_t>(failures - 1, 0, kDoublings));
}

// How far the gang came.
int64_t StepOf(const std::vector<RankRow>& ranks) {
  const auto last =
      std::ranges::min_element(ranks, {}, [](const RankRow& rank) { return rank.progress.step; });
  return last == ranks.end() ? 0 : last->progress.step;
}

// It is free, or is expected to be soon; or its worker may be back soon.
bool IsThere(const State& state, const Worker& worker, bool may_wait, const Now& now) {
  const placement::FreeDevices::Entry& entry = state.free.entry(worker.device);
  if (entry.free) return true;
  if (!may_wait || entry.drained || worker.lost) return false;
  if (entry.coming) return *entry.coming <= now.steady + kSoon;
  const bool is_used = worker.holder || OwnerOfHost(state, worker.row.host) != nullptr;
  return !is_used && worker.word != DeviceWord::kNotFree;
}

// Whether the owner of an exclusive job may have all devices of hosts that are enough for it.
bool MayHaveHosts(const State& state, const Job& job,
                  const std::function<bool(const Worker&)>& is_usable) {
  if (!job.row.spec.exclusive || QuotaOwner(state, job).empty()) return true;
  std::vector<job::WholeHost> hosts;
  for (const auto& [host, workers] : state.hosts) {
    const auto usable =
        std::ranges::count_if(workers, [&](const Worker* worker) { return is_usable(*worker); });
    hosts.push_back({usable, std::ssize(workers)});
  }
  const auto fewest = job::FewestDevices(hosts, job.row.spec.devices);
  return fewest && fewest->devices <= state.options.policy.Of(job.row.user).max_running_devices;
}

// Whether enough devices of a class are there, of those that the job reaches.
bool HasOthers(const State& state, const Job& job, const Now& now) {
  const bool may_wait = now.steady - job.retry.failed_at < kWaitsFor;
  return std::ranges::any_of(UsableClasses(state, job), [&](placement::ClassId id) {
    if (LinksOf(job)) {
      const auto is_there = [&](const Worker& worker) {
        return IsThere(state, worker, may_wait, now);
      };
      return MostLinkedOf(state, job, id, is_there) >= job.row.spec.devices;
    }
    const auto is_usable = [&](const Worker& worker) {
      return state.free.entry(worker.device).device_class == id &&
             Reaches(state, job, worker.device) && IsThere(state, worker, may_wait, now);
    };
    const auto count = std::ranges::count_if(state.devices, [&](const Worker* worker) {
      return worker != nullptr && is_usable(*worker);
    });
    return count >= job.row.spec.devices && MayHaveHosts(state, job, is_usable);
  });
}

// The workers that it failed on last, from that one on; of an exclusive job their hosts.
std::set<std::string> FailedOn(const State& state, const Job& job, size_t from) {
  std::set<std::string> names;
  for (size_t i = from; i < job.retry.failed_on.size(); ++i) {
    const auto worker = state.workers.find(job.retry.failed_on[i]);
    if (worker == state.workers.end()) continue;
    names.insert(worker->first);
    if (!job.row.spec.exclusive) continue;
    for (const Worker* other : state.hosts.at(worker->second.row.host))
      names.insert(other->row.name);
  }
  return names;
}

void Avoid(Job& job, std::set<std::string> workers) {
  if (workers == job.avoids) return;
  job.avoids = std::move(workers);
  job.reach_version = -1;
  job.usable = {};
}

std::string Ordinal(int64_t number) {
  const bool is_teen = number % 100 / 10 == 1;
  const int64_t last = is_teen ? 0 : number % 10;
  return std::to_string(number) + (last == 1 ? "st" : last == 2 ? "nd" : last == 3 ? "rd" : "th");
}

}  // namespace

bool MayBeTheDevices(const job::AttemptEnd& end) {
  switch (end.outcome) {
    case job::Outcome::kHang:
    case job::Outcome::kNcclError:
    case job::Outcome::kGpuFault:
    case job::Outcome::kNodeLost:
    case job::Outcome::kLaunchFailed: return true;
    case job::Outcome::kFailed: return end.signal.has_value();
    case job::Outcome::kSucceeded:
    case job::Outcome::kOomGpu:
    case job::Outcome::kOomHost:
    case job::Outcome::kDiverged:
    case job::Outcome::kTimeout:
    case job::Outcome::kLeaseEnded:
    case job::Outcome::kPreempted:
    case job::Outcome::kCancelled: return false;
  }
  return false;
}

void NoteEnd(Job& job, const AttemptRow& attempt, const std::vector<RankRow>& ranks) {
  Retry& retry = job.retry;
  const int64_t step = StepOf(ranks);
  if (step > retry.furthest) retry.failures = 0;
  retry.furthest = std::max(retry.furthest, step);
  if (!attempt.end || !MayBeTheDevices(*attempt.end)) return;
  ++retry.failures;
  for (const RankRow& rank : ranks) {
    if (attempt.end->rank.value_or(rank.key.rank) != rank.key.rank) continue;
    std::erase(retry.failed_on, rank.worker);
    retry.failed_on.push_back(rank.worker);
  }
}

void Pause(State& state, Job& job, const AttemptRow& attempt, const Now& now) {
  const int64_t pause = PauseAfter(job.retry.failures);
  const int64_t passed = std::max<int64_t>(0, now.wall - attempt.ended_at);
  job.retry.failed_at = now.steady - passed;
  job.retry.pause_until = now.steady + std::max<int64_t>(0, pause - passed);
  state.retrying.insert(job.row.id);
}

void RenewAvoided(State& state, Job& job, const Now& now) {
  for (size_t from = 0; from < job.retry.failed_on.size(); ++from) {
    Avoid(job, FailedOn(state, job, from));
    if (job.avoids.empty() || HasOthers(state, job, now)) return;
  }
  Avoid(job, {});
}

void KeepRetries(Turn& turn) {
  const std::set<base::JobId> retrying = turn.state.retrying;
  for (const base::JobId id : retrying) {
    const auto found = turn.state.jobs.find(id);
    if (found == turn.state.jobs.end() || found->second.attempt || found->second.row.unreadable) {
      turn.state.retrying.erase(id);
      continue;
    }
    Job& job = found->second;
    const bool is_over = job.retry.pause_until && *job.retry.pause_until <= turn.now.steady;
    const std::set<std::string> before = job.avoids;
    RenewAvoided(turn.state, job, turn.now);
    if (!is_over && job.avoids == before) continue;
    LeaveQueue(turn.state, job);
    if (is_over) job.retry.pause_until.reset();
    Enqueue(turn, job);
    turn.placement_may_change = true;
    turn.changed.insert(id);
  }
}

bool MayHold(const Job& job, const Now& now) {
  return !job.retry.pause_until || *job.retry.pause_until - now.steady <= kHeldPause;
}

std::string RetryText(const Job& job) {
  const std::string avoided = AvoidedText(job);
  return "in " + base::FormatDuration(PauseAfter(job.retry.failures) / kSecond) +
         (avoided.empty() ? "" : ", and not on " + avoided);
}

std::string PauseReason(const Job& job) {
  const int64_t failures = job.retry.failures;
  return "waits " + base::FormatDuration(PauseAfter(failures) / kSecond) + " after " +
         (failures == 1 ? "a failure" : "its " + Ordinal(failures) + " failure without progress");
}

std::string AvoidedText(const Job& job) {
  constexpr size_t kMost = 4;
  std::string text;
  size_t named = 0;
  for (const std::string& worker : job.avoids) {
    if (named == kMost) {
      text += ", …";
      break;
    }
    text += (named++ == 0 ? "" : ", ") + worker;
  }
  return text.empty() ? "" : text + ", where it failed";
}

}  // namespace trainctl::core
