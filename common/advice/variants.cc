#include "common/advice/variants.h"

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <utility>

#include "common/job/saved_weights.h"

namespace trainctl::advice {
namespace {

using job::JobSpec;

// Changes of one setting, each made to a copy of the job. The first is none.
using Change = std::function<void(JobSpec&)>;
using Changes = std::vector<Change>;

void None(JobSpec&) {}

// None, and each of these values that the setting does not have.
template <class Setting, class Value>
Changes OtherValues(const JobSpec& job, Setting setting, std::initializer_list<Value> values) {
  Changes changes = {None};
  for (const Value value : values) {
    if (setting(job) == value) continue;
    changes.push_back([setting, value](JobSpec& changed) { setting(changed) = value; });
  }
  return changes;
}

Changes Layouts(int64_t devices) {
  if (devices == 1) return {[](JobSpec& job) { job.strategy = job::StrategyKind::kSingle; }};
  return {[](JobSpec& job) { job.strategy = job::StrategyKind::kDdp; },
          [](JobSpec& job) {
            job.strategy = job::StrategyKind::kFsdp;
            job.sharding = job::Sharding::kFull;
          },
          [](JobSpec& job) {
            job.strategy = job::StrategyKind::kFsdp;
            job.sharding = job::Sharding::kGradOp;
          }};
}

// None, all blocks, and from each second to each fourth.
Changes Checkpointings(const JobSpec& job, int64_t blocks) {
  constexpr int64_t kSparsest = 4;
  Changes changes = {None};
  for (int64_t every = 0; every <= std::min(kSparsest, std::max<int64_t>(1, blocks)); ++every) {
    if (every == job.activation_checkpointing) continue;
    changes.push_back([every](JobSpec& changed) { changed.activation_checkpointing = every; });
  }
  return changes;
}

// On a CPU slot the optimizer is in host memory anyway.
Changes Offloads(job::DeviceKind kind) {
  if (kind == job::DeviceKind::kCpu) return {None};
  return {[](JobSpec& job) { job.offload_optimizer = false; },
          [](JobSpec& job) { job.offload_optimizer = true; }};
}

// It then saves an adapter where it saved a model, whose type it may have named.
void Adapt(JobSpec& job) {
  if (!job.lora) job.lora.emplace();
  if (!job::SavesModel(job)) job.output.dtype.reset();
}

Changes Methods(const JobSpec& job, const std::set<Liberty>& liberties) {
  Changes changes = {None};
  if (liberties.contains(Liberty::kLora) && (!job.lora || job.quantize)) {
    changes.push_back([](JobSpec& changed) {
      Adapt(changed);
      changed.quantize.reset();
    });
  }
  if (liberties.contains(Liberty::kQlora) && !job.quantize) {
    changes.push_back([](JobSpec& changed) {
      Adapt(changed);
      changed.quantize = job::Quantize::kNf4;
    });
  }
  return changes;
}

Changes Precisions(const JobSpec& job, const std::set<Liberty>& liberties) {
  if (!liberties.contains(Liberty::kPrecision)) return {None};
  return OtherValues(
      job, [](auto& of) -> auto& { return of.precision; },
      {job::Precision::k32True, job::Precision::kBf16True, job::Precision::kBf16Mixed});
}

Changes Optimizers(const JobSpec& job, const std::set<Liberty>& liberties) {
  if (!liberties.contains(Liberty::kOptimizer)) return {None};
  return OtherValues(job, [](auto& of) -> auto& { return of.optimizer.name; },
                     {job::OptimizerKind::kAdamW, job::OptimizerKind::kAdamW8bit});
}

// Every combination of one change of each.
std::vector<JobSpec> Combined(std::vector<JobSpec> jobs, const Changes& changes) {
  std::vector<JobSpec> combined;
  combined.reserve(jobs.size() * changes.size());
  for (const JobSpec& job : jobs) {
    for (const Change& change : changes) change(combined.emplace_back(job));
  }
  return combined;
}

}  // namespace

std::vector<JobSpec> VariantsOf(const JobSpec& asked, int64_t devices, const Question& question) {
  std::vector<JobSpec> jobs = {asked};
  jobs.front().devices = devices;
  for (const Changes& changes :
       {Layouts(devices), Checkpointings(asked, question.inspection.model.layers),
        Offloads(question.device.kind), Methods(asked, question.liberties),
        Precisions(asked, question.liberties), Optimizers(asked, question.liberties)})
    jobs = Combined(std::move(jobs), changes);
  return jobs;
}

}  // namespace trainctl::advice
