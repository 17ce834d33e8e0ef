#include "server/core/plan.h"

#include <vector>

#include "common/estimate/gradient_holding.h"

namespace trainctl::core {
namespace {

// Not where a trial has shown the estimate to be too low.
bool HoldsGradients(const Job& job, const job::Device& device) {
  if (job.row.auto_micro_batch > 0 &&
      job.row.spec.train.micro_batch_size != job.row.auto_micro_batch)
    return false;
  return job.row.inspection &&
         job::HoldsGradients(job.row.spec, *job.row.inspection, device.kind, device.memory_bytes);
}

// Of the job's ranks on the rank's host, by rank.
std::vector<const RankRow*> RanksOfHost(const Job& job, const RankRow& rank) {
  std::vector<const RankRow*> ranks;
  for (const Rank& other : job.attempt->ranks) {
    if (other.row.host == rank.host) ranks.push_back(&other.row);
  }
  return ranks;
}

void FillHostPlace(const State& state, const Job& job, const RankRow& rank, job::RankPlan& plan) {
  plan.host_devices.clear();
  for (const RankRow* other : RanksOfHost(job, rank)) {
    if (other->key == rank.key) plan.host_place = static_cast<int64_t>(plan.host_devices.size());
    plan.host_devices.push_back(state.workers.at(other->worker).row.device.index);
  }
}

}  // namespace

int64_t ThreadsOf(const State& state, const Job& job, const RankRow& rank) {
  const job::Device& device = state.workers.at(rank.worker).row.device;
  if (!job.row.spec.exclusive) return device.threads;
  std::vector<job::SiteDevice> host;
  const std::string& name = state.workers.at(rank.worker).row.host;
  for (const Worker* worker : state.hosts.at(name)) host.push_back(SiteDeviceOf(worker->row));
  const auto ranks = static_cast<int64_t>(RanksOfHost(job, rank).size());
  return job::ExclusiveThreads(host, device.kind, ranks);
}

job::RankPlan PlanOfGang(const State& state, const Job& job, const job::Device& device) {
  job::RankPlan plan;
  plan.job = job.row.spec;
  plan.job.resources.priority = job::PriorityOf(job.row.spec);  // older workers want a number
  if (plan.job.strategy == job::StrategyKind::kAuto) {
    plan.job.strategy =
        plan.job.devices == 1 ? job::StrategyKind::kSingle : job::StrategyKind::kDdp;
  }
  plan.job.train.micro_batch_size = plan.job.train.micro_batch_size.value_or(1);
  if (job.row.inspection) plan.model_revision = job.row.inspection->model_revision;
  plan.site = state.site;
  plan.job_id = base::ToString(job.row.id);
  plan.owner = job.row.user;
  plan.ended_jobs = EndedJobs(state, job.row.spec, job.row.inspection);
  plan.attempt = job.attempt->row.attempt;
  plan.trial = job.attempt->row.trial != Trial::kNone;
  plan.world_size = plan.job.devices;
  plan.device = device.kind;
  plan.holds_gradients = HoldsGradients(job, device);
  return plan;
}

void FillRank(const State& state, const Job& job, const RankRow& rank, const job::Device& device,
              job::RankPlan* plan) {
  plan->rank = rank.key.rank;
  plan->device_index = device.index;
  plan->device_uuid = device.uuid;
  plan->threads = ThreadsOf(state, job, rank);
  FillHostPlace(state, job, rank, *plan);
}

job::RankPlan MakePlan(const State& state, const Job& job, const RankRow& rank,
                       const job::Device& device) {
  job::RankPlan plan = PlanOfGang(state, job, device);
  FillRank(state, job, rank, device, &plan);
  return plan;
}

}  // namespace trainctl::core
