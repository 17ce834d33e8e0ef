#include "worker/rank/state/save_result.h"

#include <optional>
#include <utility>

#include "common/base/saved_folder.h"
#include "common/base/writable_folder.h"
#include "worker/rank/files/output_owner.h"
#include "worker/rank/files/result_draft.h"
#include "worker/rank/process/run_failure.h"
#include "worker/rank/state/model_files.h"
#include "worker/rank/state/save_adapter.h"
#include "worker/rank/state/save_model.h"

namespace trainctl::train {

bool SavesResult(const job::JobSpec& job) {
  return job.output.save != job::Save::kNone && job.output.dir;
}

void CheckOutput(const job::RankPlan& plan) {
  const bool writes = WritesCheckpoints(plan.job) || WritesTrace(plan.job) ||
                      (WritesCurves(plan.job) && plan.rank == 0) ||
                      (SavesResult(plan.job) && plan.rank == 0);
  if (!writes) return;
  if (const auto status = base::CheckWritableFolder(*plan.job.output.dir); !status) {
    throw RunFailure{"output.dir: " + status.error().message};
  }
  if (plan.rank == 0) Take(files::TakeOutput(plan), "output.dir");
}

void SaveResult(const RankContext& rank, const ops::ParameterTable& table,
                strategy::Strategy& strategy) {
  const job::JobSpec& spec = rank.plan.job;
  rank.reporter.Phase(job::RunPhase::kSaving);
  if (rank.leads()) Take(files::CheckOwnsOutput(rank.plan), "output.dir");
  const auto progress = [&](int64_t done, int64_t total) {
    rank.reporter.Phase(job::RunPhase::kSaving, done, total);
  };
  const bool adapter = spec.lora.has_value() && spec.output.save != job::Save::kMerged;
  const auto save = adapter ? SaveAdapter : SaveModel;
  std::optional<files::ResultDraft> draft;
  if (rank.leads()) draft.emplace(rank.plan);
  Take(save(spec, table, draft ? std::optional(draft->folder()) : std::nullopt, strategy, progress),
       "output.dir");
  if (!draft) return;
  base::SavedRecord record = Take(draft->Publish(), "output.dir");
  Take(KeepOneForm(*spec.output.dir, record), "output.dir");
  const char* kind = adapter                                  ? "adapter"
                     : spec.output.save == job::Save::kMerged ? "merged"
                                                              : "final";
  rank.reporter.Saved(kind, *spec.output.dir, std::move(record));
}

}  // namespace trainctl::train
