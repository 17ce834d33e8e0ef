#include "server/core/plan.h"

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

}  // namespace

job::RankPlan MakePlan(const State& state, const Job& job, const job::RankKey& key,
                       const job::Device& device) {
  job::RankPlan plan;
  plan.job = job.row.spec;
  if (plan.job.strategy == job::StrategyKind::kAuto) {
    plan.job.strategy =
        plan.job.devices == 1 ? job::StrategyKind::kSingle : job::StrategyKind::kDdp;
  }
  plan.job.train.micro_batch_size = plan.job.train.micro_batch_size.value_or(1);
  plan.site = state.site;
  plan.job_id = base::ToString(key.job);
  plan.ended_jobs = EndedJobs(state, job.row.spec, job.row.inspection);
  plan.attempt = key.attempt;
  plan.trial = job.attempt->row.trial != Trial::kNone;
  plan.rank = key.rank;
  plan.world_size = plan.job.devices;
  plan.device = device.kind;
  plan.device_index = device.index;
  plan.device_uuid = device.uuid;
  plan.threads = device.threads;
  plan.holds_gradients = HoldsGradients(job, device);
  return plan;
}

}  // namespace trainctl::core
