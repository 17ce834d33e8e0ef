// The training loop of one rank.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "common/job/batch.h"
#include "common/rank/rank_plan.h"
#include "worker/rank/comm/communicator.h"
#include "worker/rank/model/model.h"
#include "worker/rank/ops/kernels.h"
#include "worker/rank/process/commands.h"
#include "worker/rank/process/reporter.h"
#include "worker/rank/process/stream_mark.h"
#include "worker/rank/process/wait_meter.h"
#include "worker/rank/state/checkpointer.h"
#include "worker/rank/strategy/strategy.h"
#include "worker/rank/train/memory_meter.h"
#include "worker/rank/train/micro_batches.h"
#include "worker/rank/train/prompt_continuer.h"
#include "worker/rank/train/run_state.h"
#include "worker/rank/train/step_profiler.h"

namespace trainctl::train {

// Everything that a trainer works with; all of it outlives the trainer.
struct TrainerParts {
  const job::RankPlan& plan;
  const job::BatchPlan& batch;
  const RankDevice& device;
  const model::Model& model;
  const ops::Kernels& kernels;
  strategy::Strategy& strategy;
  comm::Communicator& comm;
  WaitMeter& waits;  // of comm
  MicroBatches& batches;
  Reporter& reporter;
  const Commands& commands;
  const base::Clock& clock;
  RunState& state;
  Checkpointer* checkpointer = nullptr;        // none: the job writes no checkpoints
  const PromptContinuer* continuer = nullptr;  // none: the job has no prompts
  StepProfiler* profiler = nullptr;            // none: the job traces no steps
  std::function<void(int64_t done)> on_micro_step = [](int64_t) {};  // of a step
};

// kStopped: by a command. kDiverged: train.on_nan is "stop", and the loss, the gradient's norm or
// the last step's weights are not numbers any more.
enum class TrainingEnd { kFinished, kStopped, kDiverged };

// Where a run's numbers were lost first.
struct Divergence {
  std::string what;  // "the loss is nan after step 8", of so many done
};

class Trainer {
 public:
  // begin: of a run that goes on from a checkpoint, where it stood.
  Trainer(const TrainerParts& parts, int64_t total_steps, const TrainingMoment& begin = {});

  // Runs to the end, or to the end of a step after a stop was asked for: where the job writes
  // checkpoints one has then been begun. Or to the second step after a divergence at most, of which
  // no checkpoint is begun. Checkpoints whose weights proved good are confirmed. The same on all
  // ranks. Throws what LibTorch and the communicator throw.
  TrainingEnd Run();

  // None: all losses were numbers.
  const std::optional<Divergence>& divergence() const { return divergence_; }
  // The run's last loss is not a number, of a run that went on after it diverged.
  bool ends_diverged() const { return is_lost_; }

 private:
  // A step that the device still works on: its results are read one step later, so that the device
  // never waits for the host.
  struct InFlight {
    int64_t step;
    double lr;
    StepCounts counts;
    double data_wait_seconds;  // until the host had its micro batches
    at::Tensor results;  // fp64, pinned: the sum of losses of each micro batch; how many ranks were
                         // asked to stop; the gradient's norm (negative: not wanted)
    WaitMeter::Waits waits;  // of the device, for other ranks and for data
    bool is_usual;           // nothing but the step was done meanwhile
    StreamMark end;
  };

  void Step(int64_t step);
  // The step, and before and behind it what a trace of steps has to do.
  void ProfiledStep(int64_t step);
  void EndProfile();
  // While no step is under way, and the clock of steps stands.
  void StandStill(const std::function<void()>& act);
  void MicroStep(int64_t step, int64_t micro_step, const StepCounts& counts,
                 const at::Tensor& losses);
  // The micro batch, and how long it was waited for.
  model::MicroBatch TakeBatch(int64_t step, int64_t micro_step);
  // Reports the step that is in flight, once the device has done it.
  void Retire();
  void Report(const InFlight& done, double seconds);
  bool IsAlone() const;
  // As often as memory is sampled. At a checkpoint's step and the last one too, to know that the
  // saved weights are good.
  bool WantsNorm(int64_t step) const {
    return memory_.Samples(step) || step == saved_steps_ || step + 1 == total_steps_;
  }
  // Behind the last step, whose weights no further loss tells about.
  void LookAtWeights(int64_t step);
  void LookAt(int64_t step, double value, const char* name);
  // Once, on rank 0.
  void TellOfNoLoss(int64_t step);
  bool MustStop() const { return divergence_ && parts_.plan.job.train.on_nan == job::OnNan::kStop; }
  void Evaluate(int64_t step);
  void Validate(int64_t step, int64_t max_rows, int64_t batches);
  void ContinuePrompts(int64_t step);
  bool EvaluationIsDue(int64_t step) const;
  void Checkpoint(int64_t steps_done);
  bool CheckpointIsDue(int64_t steps_done) const {
    return parts_.checkpointer != nullptr && parts_.checkpointer->IsDue(steps_done);
  }
  ops::Context MakeContext(ops::Tape& tape) const;

  TrainerParts parts_;
  const int64_t total_steps_;
  const int64_t first_step_;
  MemoryMeter memory_;
  std::optional<StreamMark>
      last_mark_;  // the end of the last retired step, or where the clock was started again
  std::optional<InFlight> in_flight_;
  double data_wait_seconds_ = 0;  // of the step that is being launched
  bool stop_agreed_ = false;
  std::optional<Divergence> divergence_;
  bool is_lost_ = false;  // the last number looked at is none
  bool told_of_no_loss_ = false;
  int64_t evaluated_steps_ = -1;  // val_loss_ is of the weights after so many
  double val_loss_ = 0;
  int64_t saved_steps_ = -1;  // the last checkpoint is of so many steps
};

}  // namespace trainctl::train
