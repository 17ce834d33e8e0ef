#include "worker/rank/train/trainer.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <ATen/record_function.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "worker/rank/profile/range_names.h"

namespace trainctl::train {
namespace {

constexpr double kNotWanted = -1;  // in place of the gradient's norm

// A copy under way into pinned memory; the values themselves where they are on the host already.
at::Tensor ToHost(const at::Tensor& values) {
  if (values.is_cpu()) return values;
  const at::Tensor host =
      at::empty(values.sizes(), values.options().device(at::kCPU).pinned_memory(true));
  host.copy_(values, /*non_blocking=*/true);
  return host;
}

// In the order of micro batches: the same sum whatever the world size.
double SumInOrder(const at::Tensor& values, int64_t count) {
  const double* data = values.const_data_ptr<double>();
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += data[i];
  return sum;
}

}  // namespace

Trainer::Trainer(const TrainerParts& parts, int64_t total_steps, const TrainingMoment& begin)
    : parts_(parts),
      total_steps_(total_steps),
      first_step_(begin.steps_done),
      memory_(parts.device, parts.strategy, parts.reporter, total_steps),
      saved_steps_(begin.steps_done) {}

TrainingEnd Trainer::Run() {
  parts_.reporter.Phase(job::RunPhase::kTraining);
  parts_.reporter.Progress({.step = first_step_, .first_step = first_step_, .steps = total_steps_});
  parts_.device.Synchronize();
  parts_.device.ResetPeak();
  last_mark_.emplace(parts_.device.device());
  int64_t step = first_step_;
  for (; step < total_steps_ && !stop_agreed_ && !MustStop(); ++step) {
    parts_.profiler == nullptr ? Step(step) : ProfiledStep(step);
    if (EvaluationIsDue(step)) Evaluate(step);
    if (CheckpointIsDue(step + 1)) Checkpoint(step + 1);
  }
  Retire();
  if (parts_.profiler != nullptr) EndProfile();
  if (step > first_step_) LookAtWeights(step - 1);
  if (step < total_steps_ && parts_.checkpointer != nullptr && saved_steps_ != step)
    Checkpoint(step);
  if (parts_.checkpointer != nullptr && !MustStop()) parts_.checkpointer->Confirm(step);
  const int64_t last_step = std::max<int64_t>(0, step - 1);
  memory_.ReportPeak(last_step);
  if (MustStop()) return TrainingEnd::kDiverged;
  return step == total_steps_ ? TrainingEnd::kFinished : TrainingEnd::kStopped;
}

void Trainer::ProfiledStep(int64_t step) {
  StepProfiler& profiler = *parts_.profiler;
  const bool goes_on = !EvaluationIsDue(step) && !CheckpointIsDue(step + 1);
  if (!goes_on && !profiler.is_running()) profiler.PutOff(step);
  if (profiler.BeginsAt(step)) StandStill([&] { profiler.Begin(); });
  Step(step);
  if (profiler.EndsBehind(step) || !goes_on) EndProfile();
}

void Trainer::EndProfile() {
  if (parts_.profiler->is_running()) StandStill([this] { parts_.profiler->End(); });
}

void Trainer::StandStill(const std::function<void()>& act) {
  Retire();
  parts_.device.Synchronize();
  act();
  if (parts_.comm.world_size() > 1) {  // nobody's next step waits for one who still writes
    const at::Tensor token = at::zeros({1}, at::TensorOptions().device(parts_.device.device()));
    parts_.comm.Wait(parts_.comm.AllReduce(token));
  }
  last_mark_.emplace(parts_.device.device());
  last_mark_->Wait();
}

void Trainer::Step(int64_t step) {
  RECORD_USER_SCOPE(profile::kStepRange + std::to_string(step));
  const StepCounts counts = parts_.batches.Counts(step);
  const double lr = job::LearningRate(parts_.plan.job, parts_.batch, step, total_steps_);
  const auto fp64 = at::TensorOptions().device(parts_.device.device()).dtype(at::kDouble);
  const at::Tensor results =
      at::zeros({parts_.batch.accumulation * parts_.batch.devices + 2}, fp64);

  data_wait_seconds_ = 0;
  const bool is_usual = IsAlone();
  if (parts_.comm.world_size() > 1) parts_.waits.Begin();
  parts_.strategy.BeginStep(step, lr, WantsNorm(step));
  for (int64_t micro_step = 0; micro_step < parts_.batch.accumulation; ++micro_step)
    MicroStep(step, micro_step, counts, results);
  parts_.state.phase.work = job::Work::kOptimizerStep;
  const at::Tensor norm = parts_.strategy.FinishStep();
  memory_.Sample(step, job::Phase::kAfterOptimizerStep);

  if (parts_.commands.stop_requested()) results[-2].fill_(1);
  if (parts_.comm.world_size() > 1) parts_.comm.Wait(parts_.comm.AllReduce(results));
  results[-1].copy_(norm.defined() ? norm : at::full({}, kNotWanted, fp64));
  InFlight launched{step,
                    lr,
                    counts,
                    data_wait_seconds_,
                    ToHost(results),
                    parts_.waits.End(),
                    is_usual && IsAlone(),
                    StreamMark(parts_.device.device())};
  Retire();
  in_flight_ = std::move(launched);
  if (parts_.device.device().is_cpu()) Retire();
  parts_.comm.CheckHealth();
}

void Trainer::MicroStep(int64_t step, int64_t micro_step, const StepCounts& counts,
                        const at::Tensor& losses) {
  parts_.strategy.BeginMicroStep(micro_step);
  model::MicroBatch batch = TakeBatch(step, micro_step);
  batch.loss_sum = losses[micro_step * parts_.batch.devices + parts_.comm.rank()];
  batch.grad_scale = 1.0 / static_cast<double>(std::max<int64_t>(1, counts.trained_tokens));

  const bool last = micro_step + 1 == parts_.batch.accumulation;
  ops::Tape tape(/*recording=*/true);
  ops::Context context = MakeContext(tape);
  context.dropout = {
      .seed = parts_.plan.job.seed, .samples = batch.samples, .length = batch.length};
  if (last) memory_.Sample(step, job::Phase::kBeforeForward);
  parts_.state.phase.work = job::Work::kForward;
  {
    RECORD_USER_SCOPE(profile::kForwardRange);
    parts_.model.Loss(context, batch);
  }
  if (last) memory_.Sample(step, job::Phase::kAfterForward);
  parts_.state.phase.work = job::Work::kBackward;
  {
    RECORD_USER_SCOPE(profile::kBackwardRange);
    tape.Backward();
  }
  if (last) memory_.Sample(step, job::Phase::kAfterBackward);
  parts_.on_micro_step(micro_step + 1);
}

model::MicroBatch Trainer::TakeBatch(int64_t step, int64_t micro_step) {
  RECORD_USER_SCOPE(profile::kDataRange);
  const WaitMeter::Span waiting(parts_.waits);
  const base::SteadyMicros begin = parts_.clock.Steady();
  model::MicroBatch batch = parts_.batches.Training(step, micro_step);
  data_wait_seconds_ += static_cast<double>(parts_.clock.Steady() - begin) / 1e6;
  return batch;
}

void Trainer::Retire() {
  if (!in_flight_) return;
  InFlight done = std::move(*in_flight_);
  in_flight_.reset();
  if (parts_.comm.world_size() > 1) parts_.reporter.Stage(job::Stage::kCollective);
  done.end.Wait();
  parts_.reporter.Stage(job::Stage::kCompute);
  const double seconds = done.end.SecondsSince(*last_mark_);
  Report(done, seconds);
  last_mark_ = std::move(done.end);
}

// Neither a trace nor a checkpoint that is being written takes of the rank's time.
bool Trainer::IsAlone() const {
  const bool traces = parts_.profiler != nullptr && parts_.profiler->is_running();
  return !traces && (parts_.checkpointer == nullptr || !parts_.checkpointer->IsWriting());
}

void Trainer::Report(const InFlight& done, double seconds) {
  Reporter& reporter = parts_.reporter;
  const int64_t micro_batches = parts_.batch.accumulation * parts_.batch.devices;
  const bool has_loss = done.counts.trained_tokens > 0;
  const double tokens = static_cast<double>(std::max<int64_t>(1, done.counts.trained_tokens));
  const double loss = SumInOrder(done.results, micro_batches) / tokens;
  const double norm = done.results[-1].item<double>();
  stop_agreed_ = stop_agreed_ || done.results[-2].item<double>() > 0;
  LookAt(done.step, loss, "loss");
  if (std::isfinite(loss)) LookAt(done.step, norm, "gradient's norm");
  // The weights that gave this loss, as a checkpoint may have them, are good.
  if (parts_.checkpointer != nullptr && !MustStop()) parts_.checkpointer->Confirm(done.step);
  const auto record = [&](job::Metric metric, double value) {
    reporter.Record(metric, done.step, value);
  };
  record(job::Metric::kStepSeconds, seconds);  // ranks step together
  record(job::Metric::kDataWaitSeconds, done.data_wait_seconds);
  // Of rows sorted by length the same ranks have the longest ones in every step.
  const bool is_comparable = done.is_usual && !parts_.plan.job.train.group_by_length;
  if (is_comparable && parts_.comm.world_size() > 1)
    record(job::Metric::kWorkSeconds, std::max(0.0, seconds - TotalSeconds(done.waits)));
  if (has_loss) {
    record(job::Metric::kLoss, loss);
  } else {
    TellOfNoLoss(done.step);
  }
  record(job::Metric::kLr, done.lr);
  if (norm != kNotWanted) record(job::Metric::kGradNorm, norm);
  const auto count = [&](job::Metric counted, job::Metric rate, int64_t number) {
    record(counted, static_cast<double>(number));
    record(rate, static_cast<double>(number) / seconds);
  };
  count(job::Metric::kSamples, job::Metric::kSamplesPerSecond, done.counts.rows);
  count(job::Metric::kTokens, job::Metric::kTokensPerSecond, done.counts.positions);
  count(job::Metric::kTrainedTokens, job::Metric::kTrainedTokensPerSecond,
        done.counts.trained_tokens);
  const std::optional<double> known_loss = has_loss ? std::optional(loss) : std::nullopt;
  const int64_t peak_bytes = parts_.device.Memory().peak_bytes;
  reporter.Progress({.step = done.step + 1,
                     .first_step = first_step_,
                     .steps = total_steps_,
                     .loss = known_loss,
                     .peak_allocated_bytes = peak_bytes});
  reporter.Stepped({.steps_done = done.step + 1,
                    .steps = total_steps_,
                    .loss = known_loss,
                    .tokens_per_second = static_cast<double>(done.counts.positions) / seconds,
                    .lr = done.lr,
                    .peak_allocated_bytes = peak_bytes});
}

void Trainer::TellOfNoLoss(int64_t step) {
  if (std::exchange(told_of_no_loss_, true) || parts_.comm.rank() != 0) return;
  parts_.reporter.Send(
      job::RankNotice{"step " + std::to_string(step + 1) +
                      " has no token that counts in the loss, and so no loss; such "
                      "rows are cut at train.max_seq_length, or have no answer"});
}

void Trainer::LookAt(int64_t step, double value, const char* name) {
  is_lost_ = !std::isfinite(value);
  if (!is_lost_ || divergence_) return;
  // Whether a nan has a sign says nothing.
  const std::string number = std::isnan(value) ? "nan" : std::to_string(value);
  divergence_ = {std::string("the ") + name + " is " + number + " after step " +
                 std::to_string(step + 1)};
  if (MustStop() || parts_.comm.rank() != 0) return;
  parts_.reporter.Send(
      job::RankNotice{divergence_->what + "; training goes on, as train.on_nan says"});
}

void Trainer::LookAtWeights(int64_t step) {
  if (is_lost_) return;
  const at::Tensor norm = parts_.strategy.WeightsNorm();
  if (parts_.comm.world_size() > 1) parts_.comm.Wait(parts_.comm.AllReduce(norm));
  LookAt(step, norm.item<double>(), "weights' norm");
}

bool Trainer::EvaluationIsDue(int64_t step) const {
  const job::EvalSpec& eval = parts_.plan.job.eval;
  if (parts_.plan.job.checkpoint.keep_best && CheckpointIsDue(step + 1)) return true;
  return step + 1 == total_steps_ || (eval.every_steps && (step + 1) % *eval.every_steps == 0);
}

void Trainer::Evaluate(int64_t step) {
  const job::EvalSpec& eval = parts_.plan.job.eval;
  const int64_t max_rows = eval.max_rows.value_or(std::numeric_limits<int64_t>::max());
  const int64_t batches = parts_.batches.ValidationBatches(max_rows);
  const bool continues = parts_.continuer != nullptr;
  if (batches == 0 && !continues) return;
  Retire();
  if (MustStop()) return;
  const StreamMark begin(parts_.device.device());
  parts_.state.phase.work = job::Work::kEvaluation;
  if (batches > 0) Validate(step, max_rows, batches);
  if (continues) ContinuePrompts(step);
  last_mark_.emplace(parts_.device.device());
  last_mark_->Wait();
  const double seconds = last_mark_->SecondsSince(begin);
  parts_.reporter.Record(job::Metric::kEvaluationSeconds, step, seconds);
  parts_.reporter.Evaluated({.steps_done = step + 1,
                             .steps = total_steps_,
                             .val_loss = batches > 0 ? std::optional(val_loss_) : std::nullopt,
                             .seconds = seconds});
  parts_.reporter.Phase(job::RunPhase::kTraining);
  if (batches > 0) LookAt(step, val_loss_, "validation loss");
}

void Trainer::ContinuePrompts(int64_t step) {
  const int64_t total = parts_.continuer->tokens();
  const auto progress = [&](int64_t tokens) {
    parts_.reporter.Phase(job::RunPhase::kGenerating, tokens, total);
  };
  progress(0);
  ops::Tape tape(/*recording=*/false);
  ops::Context context = MakeContext(tape);
  parts_.continuer->Run(step + 1, context, progress);
  progress(total);  // texts may end before
}

void Trainer::Validate(int64_t step, int64_t max_rows, int64_t batches) {
  const auto progress = [&](int64_t done) {
    parts_.reporter.Phase(job::RunPhase::kEvaluating, done, batches);
  };
  progress(0);
  const at::Tensor sums =
      at::zeros({batches}, at::TensorOptions().device(parts_.device.device()).dtype(at::kDouble));
  const at::Tensor unused = at::zeros({}, sums.options());
  // Every rank runs equally many, since sharded weights are gathered by all together; what is
  // beyond the last batch does not count.
  for (int64_t first = 0; first < batches; first += parts_.comm.world_size()) {
    const int64_t index = first + parts_.comm.rank();
    model::MicroBatch batch = parts_.batches.Validation(std::min(index, batches - 1), max_rows);
    batch.loss_sum = index < batches ? sums[index] : unused;
    ops::Tape tape(/*recording=*/false);
    ops::Context context = MakeContext(tape);
    parts_.model.Loss(context, batch);
    progress(std::min(first + parts_.comm.world_size(), batches));
  }
  if (parts_.comm.world_size() > 1) parts_.comm.Wait(parts_.comm.AllReduce(sums));
  const at::Tensor host = sums.cpu();
  const auto tokens =
      static_cast<double>(std::max<int64_t>(1, parts_.batches.ValidationTokens(max_rows)));
  val_loss_ = SumInOrder(host, batches) / tokens;
  evaluated_steps_ = step + 1;
  parts_.reporter.Record(job::Metric::kValLoss, step, val_loss_);
}

void Trainer::Checkpoint(int64_t steps_done) {
  Retire();
  if (MustStop()) return;
  const StreamMark begin(parts_.device.device());
  parts_.state.phase.work = job::Work::kCheckpoint;
  const bool evaluated = evaluated_steps_ == steps_done;
  parts_.checkpointer->Save(
      {.steps_done = steps_done, .val_loss = evaluated ? std::optional(val_loss_) : std::nullopt});
  saved_steps_ = steps_done;
  parts_.reporter.Phase(job::RunPhase::kTraining);
  last_mark_.emplace(parts_.device.device());
  last_mark_->Wait();
  parts_.reporter.Record(job::Metric::kCheckpointSeconds, steps_done - 1,
                         last_mark_->SecondsSince(begin));
}

ops::Context Trainer::MakeContext(ops::Tape& tape) const {
  return {tape, parts_.strategy, parts_.kernels, parts_.model.norm_eps(),
          parts_.plan.job.deterministic};
}

}  // namespace trainctl::train
