#include "server/core/inspect.h"

#include <string>
#include <utility>
#include <vector>

#include "common/base/size.h"
#include "common/estimate/check_model.h"
#include "common/estimate/fit.h"
#include "common/estimate/gradient_holding.h"
#include "common/estimate/prediction.h"
#include "common/job/run_plan.h"
#include "server/core/gang.h"
#include "server/core/handlers.h"

namespace trainctl::core {
namespace {

// What was found, as submit would have had it.
struct Found {
  job::Inspection inspection;
  job::RunPlan plan;
};

base::Result<Found> Read(const std::string& inspection_json, const job::JobSpec& spec) {
  const auto inspection = job::InspectionFromJson(inspection_json);
  if (!inspection) return inspection.error();
  auto plan = job::PlanRun(spec, inspection->rows);
  if (!plan) return plan.error();
  return Found{*inspection, std::move(*plan)};
}

// Why submit would have refused it.
std::vector<job::Problem> ProblemsOf(const State& state, const JobRow& row,
                                     const job::Inspection& inspection) {
  std::vector<job::Problem> problems = job::CheckModel(row.spec, inspection.model);
  if (inspection.output) {
    if (auto taken = job::CheckOutputFolder(row.spec, *inspection.output, state.site,
                                            base::ToString(row.id)))
      problems.push_back(std::move(*taken));
  }
  return problems.empty() && !row.force ? job::CheckFit(row.spec, inspection, Site(state))
                                        : problems;
}

job::Prediction Predict(const Found& found, const WorkerRow& worker) {
  const job::JobSpec& job = found.plan.job;
  const job::Device& device = worker.device;
  const job::MemoryEstimate memory =
      job::EstimateMemoryOn(job, found.inspection, device.kind, device.memory_bytes);
  return {memory, job::EstimateTime(job, found.inspection, device.name,
                                    memory.holds_gradients.value_or(false))};
}

void Refuse(Turn& turn, Job& job, const std::string& why) {
  turn.state.queue.Remove(job.demand, job.place());
  turn.placement_may_change = true;
  Finish(turn, job, {job::Outcome::kLaunchFailed, why});
}

void Keep(Turn& turn, Job& job, const std::string& inspection_json, const Found& found,
          const Worker& worker) {
  const job::Prediction prediction = Predict(found, worker.row);
  job.row.inspection_json = inspection_json;
  job.row.prediction_json = job::ToJson(prediction);
  turn.state.queue.Remove(job.demand, job.place());
  job.demand = DemandOf(job.row.spec, inspection_json);
  turn.state.queue.Add(job.demand, job.place());
  turn.placement_may_change = true;
  turn.Persist(UpdateInspection{job.row.id, job.row.inspection_json, job.row.prediction_json});
  Say(turn, job.row.id,
      "inspected by " + worker.row.name + ": " + std::to_string(found.inspection.rows) + " rows, " +
          std::to_string(found.plan.total_steps) + " optimizer steps, " +
          base::FormatBytes(prediction.memory.peak_allocated) + " predicted peak a device");
}

// A worker that goes away or has no time says nothing about the job.
void TryAgain(Turn& turn, Job& job, const std::string& why) {
  ++job.failed_inspections;
  if (NeedsInspection(turn.state, job)) {
    turn.state.inspect_again = true;
    return;
  }
  Say(turn, job.row.id,
      "model and data could not be inspected (" + why + "): it starts without a prediction");
  turn.placement_may_change = true;
}

}  // namespace

bool NeedsInspection(const State& state, const Job& job) {
  return job.row.inspection_json.empty() && job.status.attempt == 0 &&
         job.failed_inspections < state.options.max_inspections;
}

void AskToInspect(Turn& turn, Job& job, const Worker& worker) {
  if (std::exchange(job.inspecting, true)) return;
  turn.Perform(InspectJob{worker.row.name, job.row.id, job.row.spec});
  turn.changed.insert(job.row.id);
}

void Handle(Turn& turn, const JobInspected& event) {
  const auto job = turn.state.jobs.find(event.job);
  const auto worker = turn.state.workers.find(event.worker);
  if (job == turn.state.jobs.end() || worker == turn.state.workers.end() ||
      !std::exchange(job->second.inspecting, false))
    return;
  turn.changed.insert(event.job);
  const base::Result<std::string>& json = event.inspection_json;
  if (!json && json.error().code != base::Code::kInvalid)
    return TryAgain(turn, job->second, json.error().message);
  const std::string on_host = "on host " + worker->second.row.host + ": ";
  if (!json) return Refuse(turn, job->second, on_host + json.error().message);
  const base::Result<Found> found = Read(*json, job->second.row.spec);
  if (!found) return Refuse(turn, job->second, on_host + found.error().message);
  const std::vector<job::Problem> problems =
      ProblemsOf(turn.state, job->second.row, found->inspection);
  if (!problems.empty())
    return Refuse(turn, job->second, job::Format(problems, job->second.row.spec.name));
  Keep(turn, job->second, *json, *found, worker->second);
}

}  // namespace trainctl::core
