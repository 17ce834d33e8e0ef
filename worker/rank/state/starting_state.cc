#include "worker/rank/state/starting_state.h"

#include <cstdio>

#include "worker/rank/process/run_failure.h"
#include "worker/rank/state/initial_weights.h"
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

}  // namespace

std::optional<files::CheckpointState> FindStart(const RankContext& rank) {
  const job::RankPlan& plan = rank.plan;
  if (rank.writes_checkpoints()) {
    const std::string directory = files::CheckpointsDirectory(*plan.job.output.dir);
    Take(CheckSharedFolder(directory, plan, rank.comm, rank.device), "checkpoint.every_steps");
    if (rank.leads()) files::RemoveLeftovers(directory);
  }
  std::optional<std::string> choice;
  if (rank.leads()) choice = Take(ChooseCheckpoint(plan), "checkpoint.resume_from");
  choice = ShareChoice(choice, rank.comm, rank.device);
  if (!choice) return std::nullopt;
  files::FoundCheckpoint found = Take(files::FindCheckpoint(*choice), "checkpoint");
  return Take(files::CheckpointState::Open(std::move(found)), "checkpoint");
}

void LoadWeights(const RankContext& rank, const job::ModelShape& shape,
                 const ops::ParameterTable& table, strategy::Strategy& strategy) {
  const job::JobSpec& spec = rank.plan.job;
  const ByteProgress progress = ProgressTo(rank.reporter);
  if (spec.model.init == job::ModelInit::kRandom) {
    InitializeRandom(spec.seed, table, rank.device, strategy, progress);
  } else {
    Take(LoadPretrained(spec.model.path, table, shape.tied_head, strategy, progress, rank.device),
         "model.path");
  }
  InitializeAdapters(spec.seed, table, rank.device, strategy);
  strategy.FinishLoading();
}

TrainingMoment Restore(const RankContext& rank, files::CheckpointState& start, int64_t total_steps,
                       const std::string& data_digest, strategy::Strategy& strategy) {
  const files::CheckpointManifest& manifest = start.manifest();
  const std::string at =
      "step " + std::to_string(manifest.step) + " of " + std::to_string(total_steps);
  if (manifest.step > total_steps) {
    throw RunFailure{"checkpoint '" + start.path() + "' is at " + at +
                     ": raise train.max_steps or train.epochs"};
  }
  Take(RestoreState(start, strategy, ProgressTo(rank.reporter)), "checkpoint");
  if (rank.leads()) {
    std::string text = "goes on from " + start.path() + " at " + at;
    if (manifest.data_digest != data_digest)
      text += "; the data are not those it was trained on: rows are taken as if they were";
    rank.reporter.Send(job::RankNotice{text});
    std::fprintf(stderr, "trainrank: %s\n", text.c_str());
  }
  return {.steps_done = manifest.step, .val_loss = manifest.val_loss};
}

}  // namespace trainctl::train
