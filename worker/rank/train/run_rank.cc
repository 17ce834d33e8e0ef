#include "worker/rank/train/run_rank.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/empty.h>
#include <c10/core/GradMode.h>
#include <torch/headeronly/version.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/base/version.h"
#include "common/job/batch.h"
#include "common/job/trains.h"
#include "common/model/layout.h"
#include "worker/rank/comm/nccl_version.h"
#include "worker/rank/data/dataset.h"
#include "worker/rank/data/prompts.h"
#include "worker/rank/files/adapter_config.h"
#include "worker/rank/files/generation_config.h"
#include "worker/rank/files/hub_cache.h"
#include "worker/rank/files/model_config.h"
#include "worker/rank/files/preprocessor_config.h"
#include "worker/rank/images/decode.h"
#include "worker/rank/images/pixels.h"
#include "worker/rank/model/model.h"
#include "worker/rank/process/rank_context.h"
#include "worker/rank/process/run_failure.h"
#include "worker/rank/state/checkpointer.h"
#include "worker/rank/state/save_result.h"
#include "worker/rank/state/starting_state.h"
#include "worker/rank/train/engine.h"
#include "worker/rank/train/join_gang.h"
#include "worker/rank/train/memory_meter.h"
#include "worker/rank/train/outcome_of.h"
#include "worker/rank/train/prompt_continuer.h"
#include "worker/rank/train/same_data.h"
#include "worker/rank/train/step_profiler.h"
#include "worker/rank/train/trainer.h"
#include "worker/rank/train/trial.h"

namespace trainctl::train {
namespace {

// longest_prompt: 0 where there is none.
model::ModelOptions ModelOptionsOf(const job::JobSpec& spec, int64_t longest_prompt,
                                   at::Device device) {
  const int64_t longest_text = longest_prompt == 0 ? 0 : longest_prompt + spec.eval.max_new_tokens;
  return {.device = device,
          .max_length = job::PaddedLength(std::max(spec.train.max_seq_length, longest_text)),
          .checkpoint_every = spec.activation_checkpointing,
          .lora = spec.lora,
          .quantize = spec.quantize.has_value(),
          .longest_row = spec.train.max_seq_length,
          .freeze = spec.freeze,
          .trains = job::Trains(spec)};
}

constexpr size_t kMostBrokenInLog = 1000;

int64_t PictureSide(const job::ModelShape& shape) { return shape.image ? shape.image->side : 0; }

// Of each prompt; none where there are no eval.images.
std::vector<at::Tensor> PicturesOf(const job::JobSpec& spec, const job::ModelShape& shape,
                                   at::Device device) {
  std::vector<at::Tensor> pictures;
  for (const std::string& path : spec.eval.images) {
    const auto picture = Take(images::DecodeFile({path}), "eval.images");
    const int64_t side = PictureSide(shape);
    const at::Tensor host = at::empty({3, side, side}, at::kFloat);
    images::Normalize(images::PixelsOf(picture, side),
                      {host.mutable_data_ptr<float>(), static_cast<size_t>(host.numel())});
    pictures.push_back(host.to(device));
  }
  return pictures;
}

int64_t Blocks(const job::ModelShape& shape) {
  return shape.layers +
         (shape.image ? shape.image->vision_layers + shape.image->qformer_layers : 0);
}

int64_t StepsOfRun(const job::JobSpec& spec, const job::BatchPlan& batch, int64_t sequences) {
  const int64_t steps = job::TotalSteps(spec, batch, sequences);
  if (steps > 0) return steps;
  throw RunFailure{"data.path: " + std::to_string(sequences) + " training " +
                   job::SequenceWord(spec) + "s do not fill one global batch of " +
                   std::to_string(batch.global) +
                   ": lower train.global_batch_size, or give more data"};
}

// The jobs that trained these weights, this one last.
std::vector<std::string> RunsWith(const std::string& job_id,
                                  const std::optional<files::CheckpointState>& start) {
  std::vector<std::string> runs = start ? start->manifest().runs : std::vector<std::string>();
  if (runs.empty() || runs.back() != job_id) runs.push_back(job_id);
  return runs;
}

job::RankOutcome Diverged(const Divergence& divergence, const std::string& what_then) {
  return {.outcome = job::Outcome::kDiverged, .message = divergence.what + "; " + what_then};
}

class RankRun {
 public:
  RankRun(job::RankPlan plan, Commands& commands, Reporter& reporter, const base::Clock& clock,
          const Surroundings& surroundings, const std::string& adapter)
      : plan_(std::move(plan)),
        commands_(commands),
        reporter_(reporter),
        clock_(clock),
        surroundings_(surroundings),
        adapter_(adapter) {}

  job::RankOutcome Run();
  job::RankOutcome OutcomeOfFailure(const std::exception_ptr& error) const {
    return OutcomeOf(error, {.rank = plan_.rank, .device = device_.get(), .state = state_});
  }
  // The run failed: what goes on behind it leaves the reporter alone.
  void Abandon();

 private:
  void OpenDevice();
  data::Dataset ReadData(const job::ModelShape& shape);
  data::TurnTalk TokenTurn();
  void TellOfSkipped(const data::Dataset& dataset);
  data::Prompts ReadPrompts(const job::ModelShape& shape) const;
  void TellOfUnfollowed(const files::GenerationConfig& generation) const;
  void Join();
  RankContext Context() const;
  job::RankOutcome ContinuePrompts(const job::ModelShape& shape, base::SteadyMicros begin);

  const job::RankPlan plan_;
  Commands& commands_;
  Reporter& reporter_;
  const base::Clock& clock_;
  const Surroundings surroundings_;
  const std::string adapter_;  // a folder of peft, or ""
  std::unique_ptr<RankDevice> device_;
  std::optional<WaitMeter> waits_;  // of comm_
  std::unique_ptr<comm::Communicator> comm_;
  std::unique_ptr<model::Model> model_;
  std::unique_ptr<Checkpointer> checkpointer_;
  RunState state_;
};

void RankRun::OpenDevice() {
  device_ = std::make_unique<RankDevice>(Take(RankDevice::Open(plan_), "device"));
  reporter_.Send(job::RankStarted{.pid = getpid(),
                                  .commit = std::string(base::Commit()),
                                  .libtorch = TORCH_VERSION,
                                  .nccl = comm::NcclVersion(),
                                  .driver = "",
                                  .device_name = device_->name()});
}

data::Dataset RankRun::ReadData(const job::ModelShape& shape) {
  const job::JobSpec& spec = plan_.job;
  reporter_.Phase(job::RunPhase::kTokenizing);
  const auto progress = [this](int64_t done, int64_t total) {
    reporter_.Phase(job::RunPhase::kTokenizing, done, total);
  };
  data::Dataset dataset =
      Take(data::LoadDataset(spec.data, shape, spec.model.path, spec.train.max_seq_length,
                             surroundings_.folders.tokens, progress, TokenTurn()),
           "data.path");
  if (plan_.rank == 0 && spec.data.on_broken_picture == job::OnBrokenPicture::kSkip)
    TellOfSkipped(dataset);
  return dataset;
}

// Ranks of one job wait for each other each time, and tell how far that one is.
data::TurnTalk RankRun::TokenTurn() {
  return {.name = plan_.job_id + " (process " + std::to_string(getpid()) + ")",
          .waits_for = [this](const std::string& holder) {
            if (holder.starts_with(plan_.job_id + " ")) return;
            const std::string text = "waits for " + holder +
                                     ", which makes the same tokens; goes on without it where it "
                                     "stands still for a minute";
            std::fputs((text + "\n").c_str(), stderr);
            reporter_.Send(job::RankNotice{text});
          }};
}

void RankRun::TellOfSkipped(const data::Dataset& dataset) {
  const data::Dataset* validation = dataset.validation.get();
  int64_t skipped = 0;
  for (const data::Dataset* rows : {&dataset, validation}) {
    if (rows == nullptr || rows->skipped.empty()) continue;
    skipped += std::ssize(rows->skipped);
    const std::string text = std::to_string(rows->skipped.size()) + " of " +
                             std::to_string(rows->skipped.size() + rows->rows.size()) +
                             " rows are left out, whose pictures can't be read (rows from 0):";
    const std::string in_log = data::BrokenText(rows->skipped, kMostBrokenInLog);
    std::fputs((text + in_log + "\n").c_str(), stderr);
    reporter_.Send(job::RankNotice{text + data::BrokenText(rows->skipped)});
  }
  reporter_.Record(job::Metric::kSkippedRows, 0, static_cast<double>(skipped));
}

void RankRun::TellOfUnfollowed(const files::GenerationConfig& generation) const {
  std::vector<std::string> settings = generation.unfollowed;
  if (plan_.job.eval.temperature > 0) {
    const std::vector<std::string>& others = generation.unfollowed_if_drawn;
    settings.insert(settings.end(), others.begin(), others.end());
  }
  if (plan_.rank != 0 || settings.empty()) return;
  std::string text = "eval.prompts: " + generation.file + " of the model sets";
  for (const std::string& setting : settings)
    text += (&setting == &settings.front() ? " " : ", ") + setting;
  text += ", which texts here do not follow: transformers' generate may write others";
  std::fputs((text + "\n").c_str(), stderr);
  reporter_.Send(job::RankNotice{text});
}

data::Prompts RankRun::ReadPrompts(const job::ModelShape& shape) const {
  auto prompts = data::ReadPrompts(plan_.job, shape, plan_.job.model.path);
  if (!prompts) throw RunFailure{prompts.error().message};
  TellOfUnfollowed(prompts->generation);
  return std::move(*prompts);
}

void RankRun::Join() {
  reporter_.Phase(job::RunPhase::kJoining);
  state_.phase.work = job::Work::kJoining;
  waits_.emplace(device_->device());
  comm_ = JoinGang(plan_, device_->device(), {commands_, reporter_, *waits_},
                   surroundings_.reads_peers);
}

RankContext RankRun::Context() const {
  return {.plan = plan_,
          .reporter = reporter_,
          .clock = clock_,
          .device = device_->device(),
          .comm = *comm_};
}

// All that a job does that does not train.
job::RankOutcome RankRun::ContinuePrompts(const job::ModelShape& shape, base::SteadyMicros begin) {
  const job::JobSpec& spec = plan_.job;
  const at::Device device = device_->device();
  const data::Prompts prompts = ReadPrompts(shape);
  if (shape.image) Take(files::CheckPreprocessor(spec.model.path, shape.image->side), "model.path");
  model_ =
      Take(model::MakeModel(shape, ModelOptionsOf(spec, prompts.longest(), device)), "model.path");
  Join();
  const RankContext rank = Context();
  state_.phase.work = job::Work::kLoading;
  strategy::Strategy& strategy =
      MakeRankStrategy(rank, *model_, *device_, /*accumulation=*/1, state_);
  LoadWeights(rank, shape, model_->parameters(), adapter_, strategy);
  const base::SteadyMicros loaded = clock_.Steady();
  reporter_.Record(job::Metric::kLoadSeconds, 0, static_cast<double>(loaded - begin) / 1e6);

  state_.phase.work = job::Work::kEvaluation;
  device_->Synchronize();
  device_->ResetPeak();
  MemoryMeter memory(*device_, strategy, reporter_, /*total_steps=*/0);
  memory.Sample(0, job::Phase::kBeforeForward);
  const PromptContinuer continuer({.job = spec,
                                   .shape = shape,
                                   .prompts = prompts,
                                   .pictures = PicturesOf(spec, shape, device),
                                   .model = *model_,
                                   .comm = *comm_,
                                   .reporter = reporter_,
                                   .commands = commands_,
                                   .device = device});
  ops::Tape tape(/*recording=*/false);
  ops::Context context{tape, strategy, KernelsFor(spec.engine, device), model_->norm_eps(),
                       spec.deterministic};
  const auto progress = [&](int64_t tokens) {
    reporter_.Phase(job::RunPhase::kGenerating, tokens, continuer.tokens());
  };
  progress(0);
  continuer.Run(/*steps_done=*/0, context, progress);
  memory.ReportPeak(0);
  reporter_.Record(job::Metric::kEvaluationSeconds, 0,
                   static_cast<double>(clock_.Steady() - loaded) / 1e6);
  if (commands_.stop_requested())
    return {.outcome = job::Outcome::kCancelled, .message = "stopped on request"};
  progress(continuer.tokens());
  return {.outcome = job::Outcome::kSucceeded};
}

job::RankOutcome RankRun::Run() {
  const base::SteadyMicros begin = clock_.Steady();
  OpenDevice();
  const at::Device device = device_->device();
  const job::JobSpec& spec = plan_.job;
  CheckOutput(plan_);
  const job::BatchPlan batch = Take(job::PlanBatch(spec), "batch");
  const job::ModelShape shape = Take(files::ReadModelConfig(spec.model.path), "model.path");
  if (!job::Trains(spec)) return ContinuePrompts(shape, begin);
  const data::Dataset dataset = ReadData(shape);
  const RowOrder order{spec.data.seed, spec.train.group_by_length, spec.train.packing};
  MicroBatches batches(dataset, batch, order, plan_.rank, device, PictureSide(shape));
  const int64_t total_steps = StepsOfRun(spec, batch, batches.sequences());
  const data::Prompts prompts = ReadPrompts(shape);
  model_ =
      Take(model::MakeModel(shape, ModelOptionsOf(spec, prompts.longest(), device)), "model.path");
  Join();
  CheckSameData(dataset, *comm_, device);
  const RankContext rank = Context();
  state_.phase.work = job::Work::kLoading;
  const double trial_seconds = plan_.trial
                                   ? TryMicroBatch(rank, {batch, dataset, PictureSide(shape),
                                                          *model_, *device_, commands_, state_})
                                   : 0;
  std::optional<files::CheckpointState> start = FindStart(rank);
  // While the weights load.
  batches.ReadAhead(start ? start->manifest().step : 0, total_steps);
  strategy::Strategy& strategy =
      MakeRankStrategy(rank, *model_, *device_, batch.accumulation, state_);
  if (!start || !job::TrainsEveryWeight(spec))
    LoadWeights(rank, shape, model_->parameters(), adapter_, strategy);
  const TrainingMoment begun =
      start ? Restore(rank, *start, total_steps, dataset.digest, strategy) : TrainingMoment{};
  if (rank.leads() && WritesCurves(spec)) {
    reporter_.Track(Take(EventFile::Make(plan_, begun.steps_done, clock_.Wall()), "output.dir"));
  }
  reporter_.Record(job::Metric::kLoadSeconds, 0,
                   static_cast<double>(clock_.Steady() - begin) / 1e6 - trial_seconds);

  if (rank.writes_checkpoints()) {
    checkpointer_ = std::make_unique<Checkpointer>(
        CheckpointerOptions{.plan = plan_,
                            .strategy = strategy,
                            .reporter = reporter_,
                            .clock = clock_,
                            .device = device,
                            .total_steps = total_steps,
                            .steps_per_epoch = batches.steps_per_epoch(),
                            .data_digest = dataset.digest,
                            .runs = RunsWith(plan_.job_id, start)});
  }
  start.reset();
  std::optional<StepProfiler> profiler;
  if (spec.profile) {
    profiler.emplace(rank,
                     StepProfiler::Run{.first_step = begun.steps_done,
                                       .total_steps = total_steps,
                                       .passes_per_step = batch.accumulation * Blocks(shape)});
  }
  const PromptContinuer continuer({.job = spec,
                                   .shape = shape,
                                   .prompts = prompts,
                                   .dataset = &dataset,
                                   .batches = &batches,
                                   .micro_batch = batch.micro,
                                   .model = *model_,
                                   .comm = *comm_,
                                   .reporter = reporter_,
                                   .commands = commands_,
                                   .device = device});
  Trainer trainer({.plan = plan_,
                   .batch = batch,
                   .device = *device_,
                   .model = *model_,
                   .kernels = KernelsFor(spec.engine, device),
                   .strategy = strategy,
                   .comm = *comm_,
                   .waits = *waits_,
                   .batches = batches,
                   .reporter = reporter_,
                   .commands = commands_,
                   .clock = clock_,
                   .state = state_,
                   .checkpointer = checkpointer_.get(),
                   .continuer = prompts.empty() ? nullptr : &continuer,
                   .profiler = profiler ? &*profiler : nullptr},
                  total_steps, begun);
  const TrainingEnd end = trainer.Run();
  if (end == TrainingEnd::kDiverged && checkpointer_) checkpointer_->Reject();
  const base::SteadyMicros trained = clock_.Steady();
  const bool saves_result = end == TrainingEnd::kFinished && SavesResult(spec);
  if (checkpointer_) checkpointer_->Finish();
  if (saves_result) {
    state_.phase.work = job::Work::kSaving;
    SaveResult(rank, model_->parameters(), strategy, commands_);
  }
  if (rank.leads() && (checkpointer_ || saves_result)) {
    reporter_.Record(job::Metric::kSaveSeconds, 0,
                     static_cast<double>(clock_.Steady() - trained) / 1e6);
  }
  if (end == TrainingEnd::kStopped)
    return {.outcome = job::Outcome::kCancelled, .message = "stopped on request"};
  if (end == TrainingEnd::kDiverged)
    return Diverged(*trainer.divergence(), "training stopped there, and nothing more was saved");
  if (trainer.ends_diverged())
    return Diverged(*trainer.divergence(), "training went on to its end, as train.on_nan says");
  return {.outcome = job::Outcome::kSucceeded};
}

void RankRun::Abandon() {
  if (checkpointer_) checkpointer_->Abandon();
}

// Exceptions end here.
job::RankOutcome RunToOutcome(RankRun& run) {
  try {
    return run.Run();
  } catch (...) {
    return run.OutcomeOfFailure(std::current_exception());
  }
}

}  // namespace

job::RankOutcome RunRank(const job::RankPlan& plan, Commands& commands, Reporter& reporter,
                         const base::Clock& clock, const Surroundings& surroundings) {
  const data::CacheFolders& folders = surroundings.folders;
  const auto model = files::FindModel(plan.job.model.path, folders.models, plan.model_revision);
  if (!model) {
    return {.outcome = job::Outcome::kFailed, .message = "model.path: " + model.error().message};
  }
  if (!model->adapter.empty()) {
    const auto checked = files::CheckAdapter(model->adapter, plan.job);
    if (!checked) {
      return {.outcome = job::Outcome::kFailed,
              .message = "model.path: " + checked.error().message};
    }
  }
  job::RankPlan located = plan;
  located.job.model.path = model->folder;
  const c10::NoGradGuard no_grad;
  // Our tape is the only autograd: an operation need not pass LibTorch's two layers of it.
  const at::AutoDispatchBelowADInplaceOrView no_autograd;
  // Never destroyed: the process ends soon, and tearing down a broken NCCL group may hang.
  RankRun& run =
      *new RankRun(std::move(located), commands, reporter, clock, surroundings, model->adapter);
  const job::RankOutcome outcome = RunToOutcome(run);
  run.Abandon();
  return outcome;
}

}  // namespace trainctl::train
