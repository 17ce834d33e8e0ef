#include "worker/train/run_rank.h"

#include <c10/core/GradMode.h>
#include <c10/util/Exception.h>
#include <torch/headeronly/version.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>

#include "common/base/size.h"
#include "common/base/version.h"
#include "common/job/batch.h"
#include "worker/comm/communicator.h"
#include "worker/comm/nccl_version.h"
#include "worker/data/dataset.h"
#include "worker/files/model_config.h"
#include "worker/model/model.h"
#include "worker/optim/host_memory.h"
#include "worker/strategy/strategy.h"
#include "worker/train/checkpointer.h"
#include "worker/train/engine.h"
#include "worker/train/initial_weights.h"
#include "worker/train/load_weights.h"
#include "worker/train/resume.h"
#include "worker/train/save_adapter.h"
#include "worker/train/save_model.h"
#include "worker/train/trainer.h"
#include "worker/train/watched_communicator.h"

namespace trainctl::train {
namespace {

constexpr double kJoinTimeoutSeconds = 600;

// A user's or the world's error on the way to the first step.
struct Failure {
  job::Outcome outcome;
  std::string message;
};

template <class T>
T Take(base::Result<T> result, const std::string& what) {
  if (!result) throw Failure{job::Outcome::kFailed, what + ": " + result.error().message};
  return std::move(result).value();
}

int64_t RoundUp(int64_t value, int64_t multiple) { return (value + multiple - 1) / multiple * multiple; }

class RankRun {
 public:
  RankRun(const job::RankPlan& plan, Commands& commands, Reporter& reporter, const base::Clock& clock, const std::string& cache_folder)
      : plan_(plan), commands_(commands), reporter_(reporter), clock_(clock), cache_folder_(cache_folder) {}

  job::RankOutcome Run();
  job::OomDetail DescribeOom() const;
  // The run failed: what goes on behind it leaves the reporter alone.
  void Abandon();

 private:
  void JoinGang();
  std::optional<files::CheckpointState> FindStart();
  TrainingMoment Restore(files::CheckpointState& start, int64_t total_steps, const std::string& data_digest, strategy::Strategy& strategy);
  bool WritesCheckpoints() const { return plan_.job.checkpoint.every_steps && plan_.job.output.dir; }
  LoadProgress MakeProgress();
  void LoadWeights(const job::ModelShape& shape, const model::Model& model, strategy::Strategy& strategy);
  void Save(const model::Model& model, strategy::Strategy& strategy);
  int64_t TotalSteps(const data::Dataset& dataset, const job::BatchPlan& batch) const;
  double SecondsSince(base::SteadyMicros begin) const { return static_cast<double>(clock_.Steady() - begin) / 1e6; }

  const job::RankPlan& plan_;
  Commands& commands_;
  Reporter& reporter_;
  const base::Clock& clock_;
  const std::string cache_folder_;
  std::unique_ptr<RankDevice> device_;
  std::unique_ptr<comm::Communicator> comm_;
  std::unique_ptr<Checkpointer> checkpointer_;
  RunState state_;
};

bool HasFrozen(const ops::ParameterTable& table) {
  return std::ranges::any_of(table.params, [](const ops::ParamSpec& spec) { return !spec.trainable; });
}

job::RankOutcome RankRun::Run() {
  const base::SteadyMicros begin = clock_.Steady();
  device_ = std::make_unique<RankDevice>(Take(RankDevice::Open(plan_), "device"));
  reporter_.Send(job::RankStarted{.pid = getpid(),
                                  .commit = std::string(base::Commit()),
                                  .libtorch = TORCH_VERSION,
                                  .nccl = comm::NcclVersion(),
                                  .driver = "",
                                  .device_name = device_->name()});
  const job::JobSpec& spec = plan_.job;
  const job::BatchPlan batch = Take(job::PlanBatch(spec), "batch");
  const job::ModelShape shape = Take(files::ReadModelConfig(spec.model.path), "model.path");
  const data::Dataset dataset =
      Take(data::LoadDataset(spec.data, shape, spec.model.path, spec.train.max_seq_length, cache_folder_), "data.path");
  const int64_t total_steps = TotalSteps(dataset, batch);
  const model::ModelOptions options{.device = device_->device(),
                                    .max_length = RoundUp(spec.train.max_seq_length, data::kPadMultiple),
                                    .checkpoint_every = spec.activation_checkpointing,
                                    .lora = spec.lora,
                                    .quantize = spec.quantize.has_value()};
  const std::unique_ptr<model::Model> model = Take(model::MakeModel(shape, options), "model.path");
  JoinGang();
  state_.phase = "loading";
  std::optional<files::CheckpointState> start = FindStart();
  const auto strategy = strategy::MakeStrategy(
      model->parameters(),
      {.job = spec, .accumulation = batch.accumulation, .device = device_->device(), .comm = comm_.get(), .threads = plan_.threads});
  if (!start || HasFrozen(model->parameters())) LoadWeights(shape, *model, *strategy);
  const TrainingMoment begun = start ? Restore(*start, total_steps, dataset.digest, *strategy) : TrainingMoment{};
  if (plan_.rank == 0) reporter_.Metric("load_seconds", 0, SecondsSince(begin), true);

  MicroBatches batches(dataset, batch, spec.data.seed, plan_.rank, device_->device());
  if (WritesCheckpoints()) {
    std::vector<std::string> runs = start ? start->manifest().runs : std::vector<std::string>();
    if (runs.empty() || runs.back() != plan_.job_id) runs.push_back(plan_.job_id);
    checkpointer_ = std::make_unique<Checkpointer>(CheckpointerOptions{.plan = plan_,
                                                                       .strategy = *strategy,
                                                                       .reporter = reporter_,
                                                                       .clock = clock_,
                                                                       .device = device_->device(),
                                                                       .total_steps = total_steps,
                                                                       .steps_per_epoch = batches.steps_per_epoch(),
                                                                       .data_digest = dataset.digest,
                                                                       .runs = std::move(runs)});
  }
  start.reset();
  Trainer trainer({plan_, batch, *device_, *model, KernelsFor(spec.engine, device_->device()), *strategy, *comm_, batches, reporter_,
                   commands_, state_, checkpointer_.get()},
                  total_steps, begun);
  const bool to_the_end = trainer.Run();
  if (checkpointer_) checkpointer_->Finish();
  if (!to_the_end) return {.outcome = job::Outcome::kCancelled, .message = "stopped on request"};
  Save(*model, *strategy);
  return {.outcome = job::Outcome::kSucceeded};
}

int64_t RankRun::TotalSteps(const data::Dataset& dataset, const job::BatchPlan& batch) const {
  const auto train_rows = static_cast<int64_t>(dataset.train.size());
  const int64_t steps = job::TotalSteps(plan_.job, batch, train_rows);
  if (steps > 0) return steps;
  throw Failure{job::Outcome::kFailed, "data.path: " + std::to_string(train_rows) + " training rows do not fill one global batch of " +
                                           std::to_string(batch.global) + ": lower train.global_batch_size, or give more data"};
}

void RankRun::JoinGang() {
  reporter_.Send(job::RankPhase{.phase = "joining"});
  state_.phase = "joining";
  comm::JoinOptions options{.cuda = device_->device().is_cuda(),
                            .rank = plan_.rank,
                            .world_size = plan_.world_size,
                            .bind_address = plan_.bind_address,
                            .timeout_seconds = kJoinTimeoutSeconds};
  options.publish = [this](const std::string& blob) { reporter_.Send(job::RankRendezvous{blob}); };
  options.await_blob = [this] {
    const std::optional<std::string> blob = commands_.AwaitPeers(kJoinTimeoutSeconds);
    if (!blob) throw comm::CommError("rank 0's address never arrived");
    return *blob;
  };
  comm_ = std::make_unique<WatchedCommunicator>(comm::Join(options), reporter_);
}

// The checkpoint that this attempt goes on from, opened on this host.
std::optional<files::CheckpointState> RankRun::FindStart() {
  const bool leads = plan_.rank == 0;
  if (WritesCheckpoints()) {
    const std::string directory = files::CheckpointsDirectory(*plan_.job.output.dir);
    Take(CheckSharedFolder(directory, plan_, *comm_, device_->device()), "checkpoint.every_steps");
    if (leads) files::RemoveLeftovers(directory);
  }
  std::optional<std::string> choice;
  if (leads) choice = Take(ChooseCheckpoint(plan_), "checkpoint.resume_from");
  choice = ShareChoice(choice, *comm_, device_->device());
  if (!choice) return std::nullopt;
  files::FoundCheckpoint found = Take(files::FindCheckpoint(*choice), "checkpoint");
  return Take(files::CheckpointState::Open(std::move(found)), "checkpoint");
}

TrainingMoment RankRun::Restore(files::CheckpointState& start, int64_t total_steps, const std::string& data_digest,
                                strategy::Strategy& strategy) {
  const files::CheckpointManifest& manifest = start.manifest();
  const std::string at = "step " + std::to_string(manifest.step) + " of " + std::to_string(total_steps);
  if (manifest.step > total_steps) {
    throw Failure{job::Outcome::kFailed, "checkpoint '" + start.path() + "' is at " + at + ": raise train.max_steps or train.epochs"};
  }
  Take(RestoreState(start, strategy, MakeProgress()), "checkpoint");
  if (plan_.rank == 0) {
    std::string text = "goes on from " + start.path() + " at " + at;
    if (manifest.data_digest != data_digest) text += "; the data are not those it was trained on: rows are taken as if they were";
    reporter_.Send(job::RankNotice{text});
    std::fprintf(stderr, "trainrank: %s\n", text.c_str());
  }
  return {.steps_done = manifest.step,
          .train_seconds = manifest.train_seconds,
          .evaluation_seconds = manifest.evaluation_seconds,
          .val_loss = manifest.val_loss};
}

LoadProgress RankRun::MakeProgress() {
  return [this, last = base::SteadyMicros{0}](int64_t done, int64_t total) mutable {
    if (clock_.Steady() - last < 500'000 && done < total) return;
    last = clock_.Steady();
    reporter_.Send(job::RankPhase{.phase = "loading", .done_bytes = done, .total_bytes = total});
  };
}

void RankRun::LoadWeights(const job::ModelShape& shape, const model::Model& model, strategy::Strategy& strategy) {
  const LoadProgress progress = MakeProgress();
  if (plan_.job.model.init == job::ModelInit::kRandom) {
    InitializeRandom(plan_.job.seed, model.parameters(), device_->device(), strategy, progress);
  } else {
    Take(LoadPretrained(plan_.job.model.path, model.parameters(), shape.tied_head, strategy, progress, device_->device()),
         "model.path");
  }
  InitializeAdapters(plan_.job.seed, model.parameters(), device_->device(), strategy);
  strategy.FinishLoading();
}

void RankRun::Save(const model::Model& model, strategy::Strategy& strategy) {
  if (plan_.job.output.save == job::Save::kNone || !plan_.job.output.dir) return;
  const base::SteadyMicros begin = clock_.Steady();
  state_.phase = "saving";
  reporter_.Send(job::RankPhase{.phase = "saving"});
  const bool writes = plan_.rank == 0;
  const job::JobSpec& spec = plan_.job;
  const bool adapter = spec.lora.has_value() && spec.output.save != job::Save::kMerged;
  const auto save = adapter ? SaveAdapter : SaveModel;
  Take(save(spec, model.parameters(), writes, strategy), "output.dir");
  if (!writes) return;
  const char* kind = adapter ? "adapter" : spec.output.save == job::Save::kMerged ? "merged" : "final";
  reporter_.Saved(kind, *spec.output.dir);
  reporter_.Metric("save_seconds", 0, SecondsSince(begin), true);
}

void RankRun::Abandon() {
  if (checkpointer_) checkpointer_->Abandon();
}

job::OomDetail RankRun::DescribeOom() const {
  job::OomDetail detail{.rank = plan_.rank, .phase = state_.phase, .memory = state_.last_memory};
  if (!device_) return detail;
  const Refusal refusal = device_->LastRefusal();
  detail.requested_bytes = refusal.requested_bytes;
  detail.limit_bytes = device_->limit_bytes();
  const AllocatorStats stats = device_->Memory();
  detail.memory.allocated = refusal.allocated_bytes;
  detail.memory.peak_allocated = stats.peak_bytes;
  detail.memory.reserved = stats.reserved_bytes;
  return detail;
}

// "out of device memory in backward: 0.17 GiB asked for with 9.18 GiB allocated, limit 9.31 GiB"
std::string OomMessage(const job::OomDetail& detail) {
  std::string message = "out of device memory in " + detail.phase + ": " + base::FormatBytes(detail.requested_bytes) + " asked for with " +
                        base::FormatBytes(detail.memory.allocated) + " allocated";
  if (detail.limit_bytes > 0) message += ", limit " + base::FormatBytes(detail.limit_bytes);
  return message;
}

std::string FirstLine(const std::string& text) { return text.substr(0, text.find('\n')); }

// Exceptions end here.
job::RankOutcome RunToOutcome(RankRun& run) {
  try {
    return run.Run();
  } catch (const Failure& failure) {
    return {.outcome = failure.outcome, .message = failure.message};
  } catch (const c10::OutOfMemoryError& error) {
    const job::OomDetail detail = run.DescribeOom();
    std::fprintf(stderr, "%s\n", error.what_without_backtrace());
    return {.outcome = job::Outcome::kOomGpu, .message = OomMessage(detail), .oom = detail};
  } catch (const optim::HostMemoryError& error) {
    return {.outcome = job::Outcome::kOomHost, .message = error.what()};
  } catch (const comm::CommError& error) {
    return {.outcome = job::Outcome::kNcclError, .message = error.what()};
  } catch (const c10::Error& error) {
    const std::string message = error.what_without_backtrace();
    const bool fault = message.find("CUDA error") != std::string::npos;
    return {.outcome = fault ? job::Outcome::kGpuFault : job::Outcome::kFailed, .message = FirstLine(message)};
  } catch (const std::exception& error) {
    return {.outcome = job::Outcome::kFailed, .message = error.what()};
  }
}

}  // namespace

job::RankOutcome RunRank(const job::RankPlan& plan, Commands& commands, Reporter& reporter, const base::Clock& clock,
                         const std::string& cache_folder) {
  const c10::NoGradGuard no_grad;
  // Never destroyed: the process ends soon, and tearing down a broken NCCL group may hang.
  RankRun& run = *new RankRun(plan, commands, reporter, clock, cache_folder);
  const job::RankOutcome outcome = RunToOutcome(run);
  run.Abandon();
  return outcome;
}

}  // namespace trainctl::train
