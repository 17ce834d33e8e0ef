#include "worker/rank/state/save_result.h"

#include <optional>
#include <utility>

#include "common/base/saved_folder.h"
#include "common/base/writable_folder.h"
#include "common/job/saved_weights.h"
#include "worker/rank/files/output_owner.h"
#include "worker/rank/files/result_draft.h"
#include "worker/rank/process/run_failure.h"
#include "worker/rank/state/model_files.h"
#include "worker/rank/state/resume.h"
#include "worker/rank/state/room_wait.h"
#include "worker/rank/state/save_adapter.h"
#include "worker/rank/state/save_model.h"

namespace trainctl::train {
namespace {

// What rank 0 has written; of other ranks nothing.
using Saved = base::Result<std::optional<base::SavedRecord>>;

// Nothing of it stays where it fails. Collective.
Saved TrySave(const RankContext& rank, const ops::ParameterTable& table,
              strategy::Strategy& strategy, const ByteProgress& progress) {
  const job::JobSpec& spec = rank.plan.job;
  const auto save = job::SavesAdapter(spec) ? SaveAdapter : SaveModel;
  std::optional<files::ResultDraft> draft;
  if (rank.leads()) draft.emplace(rank.plan);
  const base::Status written =
      save(spec, table, draft ? std::optional(draft->folder()) : std::nullopt, strategy, progress);
  if (!written) return written.error();
  if (!draft) return std::optional<base::SavedRecord>();
  base::Result<base::SavedRecord> record = draft->Publish();
  if (!record) return record.error();
  return std::optional(std::move(*record));
}

}  // namespace

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
                strategy::Strategy& strategy, const Commands& commands) {
  const job::JobSpec& spec = rank.plan.job;
  rank.reporter.Phase(job::RunPhase::kSaving);
  if (rank.leads()) Take(files::CheckOwnsOutput(rank.plan), "output.dir");
  RoomWait room(rank.reporter, commands, rank.clock);
  int64_t bytes = 0;
  const auto progress = [&](int64_t done, int64_t total) {
    bytes = total;
    rank.reporter.Phase(job::RunPhase::kSaving, done, total);
  };
  Saved saved = TrySave(rank, table, strategy, progress);
  while (!AtEveryRank(saved.ok(), rank.comm, rank.device)) {
    const bool tries_again = saved.ok() || (saved.error().code == base::Code::kExhausted &&
                                            room.Await(saved.error(), *spec.output.dir, bytes));
    if (!AtEveryRank(tries_again, rank.comm, rank.device)) break;
    saved = TrySave(rank, table, strategy, progress);
  }
  const std::optional<base::SavedRecord> record = Take(std::move(saved), "output.dir");
  if (!record) return;
  Take(KeepOneForm(*spec.output.dir, *record), "output.dir");
  const char* kind = job::SavesAdapter(spec)                  ? "adapter"
                     : spec.output.save == job::Save::kMerged ? "merged"
                                                              : "final";
  rank.reporter.Saved(kind, *spec.output.dir, *record);
}

}  // namespace trainctl::train
