#include "worker/rank/state/starting_state.h"

#include <cstdio>
#include <filesystem>
#include <utility>

#include "common/job/hub_id.h"
#include "common/rank/run_names.h"
#include "worker/rank/process/run_failure.h"
#include "worker/rank/state/initial_weights.h"
#include "worker/rank/state/load_adapter.h"
#include "worker/rank/state/load_weights.h"
#include "worker/rank/state/restore_state.h"
#include "worker/rank/state/resume.h"

namespace trainctl::train {
namespace {

ByteProgress ProgressTo(Reporter& reporter) {
  return [&reporter](int64_t done, int64_t total) {
    reporter.Phase(job::RunPhase::kLoading, done, total);
  };
}

void Tell(const RankContext& rank, const std::string& text) {
  if (!rank.leads()) return;
  rank.reporter.Send(job::RankNotice{text});
  std::fprintf(stderr, "trainrank: %s\n", text.c_str());
}

// Of the folder that this job writes to, and not the very one that the job names.
bool IsOwn(const RankContext& rank, const std::string& checkpoint) {
  const job::JobSpec& spec = rank.plan.job;
  return rank.writes_checkpoints() && spec.checkpoint.resume_from != checkpoint &&
         std::filesystem::path(checkpoint).parent_path() ==
             std::filesystem::path(files::CheckpointsDirectory(*spec.output.dir));
}

// why: empty at a rank that found nothing wrong.
void SetAside(const RankContext& rank, const std::string& checkpoint, const std::string& why) {
  const std::string fault = why.empty() ? "another rank found it damaged" : why;
  if (!IsOwn(rank, checkpoint)) {
    throw RunFailure{"checkpoint: " + fault +
                     ": name an older one, as with --checkpoint.resume_from FOLDER/step-60"};
  }
  if (rank.leads()) Take(files::SetAsideCheckpoint(checkpoint), "checkpoint");
  Tell(rank, "a damaged checkpoint is set aside as " + checkpoint +
                 std::string(job::kDamagedSuffix) + ": " + fault);
}

// The newest that every rank can open; rank 0 chooses.
std::optional<files::CheckpointState> OpenNewest(const RankContext& rank) {
  for (;;) {
    std::optional<std::string> choice;
    if (rank.leads()) choice = Take(ChooseCheckpoint(rank.plan), "checkpoint.resume_from");
    choice = ShareChoice(choice, rank.comm, rank.device);
    if (!choice) return std::nullopt;
    base::Result<files::FoundCheckpoint> found = files::FindCheckpoint(*choice);
    base::Result<files::CheckpointState> opened =
        found.ok() ? files::CheckpointState::Open(std::move(*found)) : found.error();
    if (AtEveryRank(opened.ok(), rank.comm, rank.device)) return std::move(*opened);
    SetAside(rank, *choice, opened.ok() ? "" : opened.error().message);
  }
}

}  // namespace

std::optional<files::CheckpointState> FindStart(const RankContext& rank) {
  const job::RankPlan& plan = rank.plan;
  if (rank.writes_checkpoints()) {
    const std::string directory = files::CheckpointsDirectory(*plan.job.output.dir);
    Take(CheckSharedFolder(directory, plan, rank.comm, rank.device), "checkpoint.every_steps");
    if (rank.leads()) files::RemoveLeftovers(directory);
  }
  return OpenNewest(rank);
}

void LoadWeights(const RankContext& rank, const job::ModelShape& shape,
                 const ops::ParameterTable& table, const std::string& adapter,
                 strategy::Strategy& strategy) {
  const job::JobSpec& spec = rank.plan.job;
  const ByteProgress progress = ProgressTo(rank.reporter);
  if (spec.model.init == job::ModelInit::kRandom) {
    InitializeRandom(spec.seed, table, rank.device, strategy, progress);
  } else {
    Take(LoadPretrained(spec.model.path, table, shape.tied_head, strategy, progress, rank.device),
         "model.path");
  }
  if (adapter.empty()) {
    InitializeAdapters(spec.seed, table, rank.device, strategy);
  } else {
    Take(LoadAdapter(adapter, table, strategy), "model.path");
  }
  strategy.FinishLoading();
}

namespace {

// Adapters fit the frozen weights that they were trained beside.
void CheckRevision(const RankContext& rank, const files::CheckpointState& start) {
  const job::JobSpec& job = rank.plan.job;
  const auto now = job::SnapshotOf(job.model.path);
  const auto then = job::SnapshotOf(start.manifest().job.model.path);
  if (!job.lora || !now || !then || now->revision == then->revision) return;
  throw RunFailure{"checkpoint '" + start.path() + "' is of revision " + then->revision + " of " +
                   then->id + ", and " + now->revision +
                   " is the newest here: set model.path to the folder of the older one"};
}

}  // namespace

TrainingMoment Restore(const RankContext& rank, files::CheckpointState& start, int64_t total_steps,
                       const std::string& data_digest, strategy::Strategy& strategy) {
  for (;;) {
    const std::string at =
        "step " + std::to_string(start.manifest().step) + " of " + std::to_string(total_steps);
    if (start.manifest().step > total_steps) {
      throw RunFailure{"checkpoint '" + start.path() + "' is at " + at +
                       ": raise train.max_steps or train.epochs"};
    }
    CheckRevision(rank, start);
    const base::Status restored = RestoreState(start, strategy, ProgressTo(rank.reporter));
    if (AtEveryRank(restored.ok(), rank.comm, rank.device)) {
      const bool same_data = start.manifest().data_digest == data_digest;
      Tell(rank, "goes on from " + start.path() + " at " + at +
                     (same_data ? ""
                                : "; the data are not those it was trained on: rows are taken as "
                                  "if they were"));
      return {.steps_done = start.manifest().step, .val_loss = start.manifest().val_loss};
    }
    if (!restored.ok() && restored.error().code != base::Code::kIo) Take(restored, "checkpoint");
    SetAside(rank, start.path(), restored.ok() ? "" : restored.error().message);
    std::optional<files::CheckpointState> older = OpenNewest(rank);
    // What was read in part is no start.
    if (!older) throw RunFailure{"checkpoint: no older one is left; submit the job anew"};
    start = std::move(*older);
  }
}

}  // namespace trainctl::train
