#include "server/core/wait.h"

#include <algorithm>
#include <iterator>
#include <tuple>

#include "server/core/ahead.h"
#include "server/core/forecast.h"
#include "server/core/leases.h"
#include "server/core/reach.h"
#include "server/core/waiting.h"

namespace trainctl::core {
namespace {

using placement::ClassId;

base::WallMicros SinceWhen(const State& state, const Worker& worker, const Job* holder,
                           const Now& now) {
  if (holder != nullptr) return holder->attempt->row.placed_at;
  if (!worker.connected) return now.wall - (now.steady - worker.away_since);
  if (const FaultRow* fault = WorstFault(state, worker.row.name)) return fault->fault.at;
  const DrainRow* drain = DrainOf(state, worker.row);
  return drain == nullptr ? 0 : drain->at;
}

Hindrance HindranceOf(const State& state, const Worker& worker, const Now& now) {
  const std::optional<base::JobId> id = HolderOf(state, worker);
  const Job* holder = id ? FindJob(state, *id) : nullptr;
  return {.worker = &worker,
          .state = StateOf(state, worker),
          .holder = holder,
          .since = SinceWhen(state, worker, holder, now),
          .until = state.free.entry(worker.device).coming,
          .reason = WorkerReason(state, worker),
          .drain = DrainOf(state, worker.row)};
}

// The workers whose devices the job could use; of an exclusive job all of their hosts.
std::vector<const Worker*> WorkersItWants(const State& state, const Job& job) {
  const std::vector<ClassId> classes =
      job.lease == 0 ? ClassesOfAnyLease(state, job) : PossibleClasses(state, job);
  std::vector<const Worker*> wanted;
  for (const auto& [host, workers] : state.hosts) {
    const auto is_usable = [&](const Worker* worker) {
      return std::ranges::count(classes, state.free.entry(worker->device).device_class) > 0 &&
             Reaches(state, job, worker->device);
    };
    const bool all = job.row.spec.exclusive && std::ranges::any_of(workers, is_usable);
    std::ranges::copy_if(workers, std::back_inserter(wanted),
                         [&](const Worker* worker) { return all || is_usable(worker); });
  }
  return wanted;
}

// The lease that has the device, or wants it before the job would end; nullptr: none.
const Lease* LeaseInTheWay(const State& state, const Job& job, const Worker& worker,
                           const Now& now) {
  const ClassId id = state.free.entry(worker.device).device_class;
  if (state.free.pools()[id].device_class.lease != job.lease || job.lease == 0) {
    const Lease* next = NextLeaseOf(state, worker.row.name);
    if (next == nullptr || next->active) return next;
    return IsClear(state, worker, LengthAmongLeases(state, job, id), now) ? nullptr : next;
  }
  return nullptr;
}

}  // namespace

std::optional<Wait> WaitOf(const State& state, const Job& job, const Now& now) {
  if (job.lane != Lane::kQueue) return std::nullopt;
  const Ahead ahead = LookAhead(state, job, now);
  if (!ahead.quotas.Yields(job) || DeniedByQuota(job, state, ahead, now) > 0) return std::nullopt;
  Wait wait{.behind = ahead.blocker, .minutes_that_pass = MinutesThatPass(state, job, ahead, now)};
  if (!PredictedStart(state, job, now)) wait.why_not_known = WhyNotForeseen(state, job, now);
  for (const Worker* worker : WorkersItWants(state, job)) {
    const Lease* lease = LeaseInTheWay(state, job, *worker, now);
    if (state.free.entry(worker->device).free && lease == nullptr) {
      ++wait.free;
      continue;
    }
    wait.hindrances.push_back(HindranceOf(state, *worker, now));
    Hindrance& hindrance = wait.hindrances.back();
    if (hindrance.holder != nullptr || lease == nullptr) continue;
    if (hindrance.state == job::WorkerState::kReady)
      hindrance.state = job::WorkerState::kLeased;  // too soon for this job
    hindrance.since = lease->row.created_at;
    hindrance.until = now.steady + (lease->row.end - now.wall);
  }
  std::ranges::stable_sort(wait.hindrances, {}, [](const Hindrance& hindrance) {
    return std::tuple(!hindrance.until, hindrance.until.value_or(0), hindrance.worker->row.name);
  });
  return wait;
}

}  // namespace trainctl::core
