#include "server/core/inspect.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "common/base/check.h"
#include "common/base/size.h"
#include "common/estimate/accept_job.h"
#include "common/estimate/site_prediction.h"
#include "common/job/trains.h"
#include "server/core/bounded_groups.h"
#include "server/core/dependencies.h"
#include "server/core/fair_share.h"
#include "server/core/gang.h"
#include "server/core/handlers.h"
#include "server/core/leases.h"
#include "server/core/quota.h"
#include "server/core/reach.h"
#include "server/core/run_length.h"
#include "server/core/waiting.h"

namespace trainctl::core {
namespace {

// ---- asking ----

bool HasRoomFor(const State& state, const std::string& user) {
  const auto of_user = std::ranges::count_if(
      state.inspecting, [&](const auto& entry) { return entry.second.user == user; });
  return of_user < state.options.max_inspecting_of_user;
}

// The workers on whose device the job could run, of hosts that have not refused it.
std::vector<const Worker*> Candidates(const State& state, const Job& job) {
  const std::vector<placement::ClassId> usable = ClassesOfAnyLease(state, job);
  std::vector<const Worker*> candidates;
  for (const auto& [name, worker] : state.workers) {
    const placement::ClassId device_class = state.free.entry(worker.device).device_class;
    const bool is_usable = std::ranges::find(usable, device_class) != usable.end();
    if (is_usable && Reaches(state, job, worker.device) &&
        !job.hosts_that_refused.contains(worker.row.host))
      candidates.push_back(&worker);
  }
  return candidates;
}

// A connected candidate: one with a free device first, then one that looks at fewer jobs. null:
// there is none.
const Worker* ChooseWorker(const State& state, const Job& job) {
  const auto rank = [&](const Worker& worker) {
    const auto looks_at = std::ranges::count_if(state.inspecting, [&](const auto& entry) {
      return entry.second.worker == worker.row.name;
    });
    return std::pair(!state.free.entry(worker.device).free, looks_at);
  };
  const Worker* chosen = nullptr;
  for (const Worker* worker : Candidates(state, job)) {
    if (!worker->connected) continue;
    if (chosen == nullptr || rank(*worker) < rank(*chosen)) chosen = worker;
  }
  return chosen;
}

void Ask(Turn& turn, const Job& job, const Worker& worker) {
  turn.state.inspecting[job.row.id] = {worker.row.name, job.row.user, turn.now.steady};
  turn.Perform(InspectJob{worker.row.name, job.row.id, job.row.spec, job.row.user});
  turn.changed.insert(job.row.id);
}

// ---- answers ----

// As submit predicts it, whichever worker has looked.
job::Prediction Predict(const job::JobSpec& spec, const JobInspected& told,
                        const std::vector<job::SiteDevice>& devices) {
  const job::SitePrediction on = job::PredictOnSite(spec, *told.inspection, devices);
  return {*on.memory,
          job::PredictTimeOn(spec, *told.inspection, on.device_name, on.memory, told.earlier)};
}

void Refuse(Turn& turn, Job& job, const std::string& why) {
  LeaveQueue(turn.state, job);
  Finish(turn, job, {job::Outcome::kLaunchFailed, why});
}

std::string RowsText(const job::Inspection& inspection) {
  const std::string rows = base::WithThousands(inspection.rows) + " rows";
  if (inspection.sampled_rows == 0) return rows;
  return "about " + rows + " by a sample of " + base::WithThousands(inspection.sampled_rows);
}

void Keep(Turn& turn, Job& job, const JobInspected& told, const job::RunPlan& plan) {
  const job::Inspection& inspection = *told.inspection;
  const job::Prediction prediction =
      Predict(plan.job, told, SiteOf(turn.state, job.row.user, job.row.spec));
  LeaveQueue(turn.state, job);
  job.row.inspection = inspection;
  job.row.prediction = prediction;
  Enqueue(turn, job);
  turn.Persist(UpdateInspection{job.row.id, inspection, prediction});
  const std::string work = job::Trains(plan.job)
                               ? RowsText(inspection) + ", " +
                                     base::WithThousands(plan.total_steps) + " optimizer steps, "
                               : std::to_string(plan.job.eval.prompts.size()) + " prompts, ";
  Say(turn, job.row.id,
      "inspected by " + told.worker + ": " + work +
          base::FormatBytes(prediction.memory.peak_allocated) + " predicted peak a device");
}

// What one host can't read, another may: also one that is away now.
void RefuseUnlessAnotherHostMay(Turn& turn, Job& job, const std::string& host,
                                const std::string& why) {
  if (job.refusal.empty()) job.refusal = "on host " + host + ": " + why;
  job.hosts_that_refused.insert(host);
  if (Candidates(turn.state, job).empty()) return Refuse(turn, job, job.refusal);
  Say(turn, job.row.id, "can't be read on host " + host + " (" + why + "): another host is asked");
}

// A worker that goes away or has no time says nothing about the job.
void TryAgain(Turn& turn, Job& job, const std::string& why) {
  ++job.failed_inspections;
  if (NeedsInspection(turn.state, job)) {
    turn.state.resting.insert(job.row.id);
    return;
  }
  LeaveQueue(turn.state, job);
  Enqueue(turn, job);
  Say(turn, job.row.id,
      "model and data could not be inspected (" + why + "): it starts without a prediction");
}

}  // namespace

bool NeedsInspection(const State& state, const Job& job) {
  return !job.row.inspection && job.status.attempt == 0 &&
         job.failed_inspections < state.options.max_inspections;
}

namespace {

// Of one that waits for no other job.
Lane LaneOf(const State& state, const Job& job) {
  if (job.demand.inspect_first && !job.row.force) return Lane::kUninspected;
  const Lease* lease = FindLease(state, job.lease);
  const bool waits = job.row.spec.resources.lease && (lease == nullptr || !IsOpen(*lease));
  return waits ? Lane::kLeased : Lane::kQueue;
}

}  // namespace

std::optional<base::JobId> Enqueue(State& state, Job& job) {
  job.lane = Lane::kNone;
  job.share = ShareOf(state, job);
  if (job.row.unreadable || Follow(state, job)) return std::nullopt;
  const Admission admission = WaitForGroup(state, job);
  if (admission.waits) return std::nullopt;
  job.demand = DemandOf(job.row.spec, job.row.inspection);
  job.suits.clear();
  job.usable = {};
  job.demand.inspect_first = NeedsInspection(state, job);
  job.demand.lease = job.lease;
  job.demand.user = QuotaOwner(state, job);
  job.demand.rules = RulesOn(state, job);
  job.demand.pauses = job.retry.pause_until.has_value();
  for (const std::string& worker : job.avoids) job.demand.avoids += worker + "\n";
  job.lane = LaneOf(state, job);
  if (job.lane == Lane::kUninspected) state.uninspected.insert(job.place());
  if (job.lane == Lane::kQueue) {
    job.longest_run = LongestRun(state.options, job);
    state.queue.Add(job.demand, job.place(), job.longest_run, &job);
  }
  return admission.put_back;
}

void Enqueue(Turn& turn, Job& job) {
  if (const std::optional<base::JobId> put_back = Enqueue(turn.state, job))
    turn.changed.insert(*put_back);
  AdmitFromGroup(turn, job.row.group);
}

void LeaveQueue(State& state, Job& job) {
  switch (std::exchange(job.lane, Lane::kNone)) {
    case Lane::kNone:
    case Lane::kLeased: return;
    case Lane::kFollowing: return StopFollowing(state, job);
    case Lane::kBounded: return StopWaitingForGroup(state, job);
    case Lane::kQueue: return state.queue.Remove(job.demand, job.place(), job.longest_run);
    case Lane::kUninspected:
      CHECK(state.uninspected.erase(job.place()) == 1) << base::ToString(job.row.id);
      return;
  }
}

void InspectFirst(Turn& turn, Job& job) {
  job.lane = Lane::kUninspected;
  turn.state.uninspected.insert(job.place());
  turn.changed.insert(job.row.id);
}

void AskForInspections(Turn& turn) {
  State& state = turn.state;
  const auto most = static_cast<size_t>(state.options.max_inspecting);
  if (std::ranges::none_of(state.workers, [](const auto& entry) { return entry.second.connected; }))
    return;
  for (const Place& place : state.uninspected) {
    if (state.inspecting.size() >= most) return;
    const Job& job = state.jobs.at(place.job);
    const bool rests = state.inspecting.contains(place.job) || state.resting.contains(place.job);
    if (rests || !HasRoomFor(state, job.row.user)) continue;
    const Worker* worker = ChooseWorker(state, job);
    if (worker != nullptr) Ask(turn, job, *worker);
  }
}

std::string InspectionReason(const State& state, const Job& job, const Now& now) {
  const auto asked = state.inspecting.find(job.row.id);
  if (asked != state.inspecting.end()) {
    const int64_t seconds = (now.steady - asked->second.since) / 1'000'000;
    return "its model and data are being inspected by " + asked->second.worker + " (" +
           std::to_string(seconds) + " s)";
  }
  const std::string waits = "waits for the inspection of its model and data";
  if (ChooseWorker(state, job) == nullptr) {
    return waits + (job.refusal.empty()
                        ? ": no worker that could run it is connected"
                        : " by another host, none of which is connected; " + job.refusal);
  }
  if (state.resting.contains(job.row.id))
    return waits + ": nobody could look yet; it is asked again";
  return waits + ", behind " + std::to_string(state.inspecting.size()) + " others";
}

void Handle(Turn& turn, const JobInspected& event) {
  if (turn.state.inspecting.erase(event.job) == 0) return;
  turn.placement_may_change = true;  // another job may be looked at
  const auto found = turn.state.jobs.find(event.job);
  const auto worker = turn.state.workers.find(event.worker);
  if (found == turn.state.jobs.end() || worker == turn.state.workers.end()) return;
  Job& job = found->second;
  if (job.lane != Lane::kUninspected) return;
  turn.changed.insert(event.job);
  const base::Result<job::Inspection>& inspection = event.inspection;
  if (!inspection && inspection.error().code != base::Code::kInvalid)
    return TryAgain(turn, job, inspection.error().message);
  const std::string on_host = "on host " + worker->second.row.host + ": ";
  if (!inspection) {
    return RefuseUnlessAnotherHostMay(turn, job, worker->second.row.host,
                                      inspection.error().message);
  }
  if (!job.row.force && job::LacksWeights(job.row.spec, *inspection)) {
    return RefuseUnlessAnotherHostMay(turn, job, worker->second.row.host,
                                      "model.path: " + inspection->missing_weights);
  }
  const auto accepted = job::AcceptJob(
      {.job = job.row.spec,
       .inspection = *inspection,
       .devices = SiteOf(turn.state, job.row.user, job.row.spec),
       .whole_site = turn.state.rules.empty() ? std::vector<job::SiteDevice>() : Site(turn.state),
       .force = job.row.force,
       .claimant = {turn.state.site, base::ToString(job.row.id),
                    EndedJobs(turn.state, job.row.spec, *inspection)},
       .resumed = event.resumed});
  if (!accepted) return Refuse(turn, job, on_host + accepted.error().message);
  if (!accepted->plan) return Refuse(turn, job, on_host + "the data have no rows");
  if (!accepted->problems.empty())
    return Refuse(turn, job, job::Format(accepted->problems, job.row.spec.name));
  Keep(turn, job, event, *accepted->plan);
}

}  // namespace trainctl::core
