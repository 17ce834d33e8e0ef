#include "server/core/plan.h"

namespace trainctl::core {

job::RankPlan MakePlan(const Job& job, const RankKey& key, const Device& device) {
  job::RankPlan plan;
  plan.job = job.row.spec;
  if (plan.job.strategy == job::StrategyKind::kAuto) {
    plan.job.strategy = plan.job.devices == 1 ? job::StrategyKind::kSingle : job::StrategyKind::kDdp;
  }
  plan.job.train.micro_batch_size = plan.job.train.micro_batch_size.value_or(1);
  plan.job_id = base::ToString(key.job);
  plan.attempt = key.attempt;
  plan.rank = key.rank;
  plan.world_size = plan.job.devices;
  plan.device = device.kind;
  plan.device_index = device.index;
  plan.device_uuid = device.uuid;
  plan.threads = device.threads;
  return plan;
}

}  // namespace trainctl::core
