// Checkpoints of a run, written behind the training. Between two steps the rank copies its slices
// of the state into host buffers (staging.h). A thread digests and writes them
// (worker/rank/files/checkpoint_writer.h) while the next steps run. Rank 0's thread makes the
// checkpoint whole, removes those that are no longer kept, and says so to the worker. A failure (a
// full disk, a rank whose part never comes) is said in the log and the job's events. Training goes
// on, and the older checkpoint serves.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "common/base/clock.h"
#include "common/rank/rank_plan.h"
#include "worker/rank/files/checkpoint_writer.h"
#include "worker/rank/process/reporter.h"
#include "worker/rank/state/staging.h"
#include "worker/rank/strategy/strategy.h"

namespace trainctl::train {

// Of the moment between two steps.
struct TrainingMoment {
  int64_t steps_done = 0;
  std::optional<double> val_loss;  // of exactly these weights
};

struct CheckpointerOptions {
  const job::RankPlan& plan;  // all references outlive the checkpointer
  strategy::Strategy& strategy;
  Reporter& reporter;
  const base::Clock& clock;
  at::Device device;
  int64_t total_steps = 0;
  int64_t steps_per_epoch = 1;
  std::string data_digest;
  std::vector<std::string> runs;  // CheckpointManifest's
};

// Driven by the training thread.
class Checkpointer {
 public:
  explicit Checkpointer(CheckpointerOptions options);
  ~Checkpointer();  // waits as Finish does

  // The job asks for a checkpoint after so many steps.
  bool IsDue(int64_t steps_done) const;

  // Returns once the state is copied, and may be changed. Waits first for a write that is still
  // under way.
  void Save(const TrainingMoment& moment);

  // Behind the training; it takes time and memory bandwidth from the steps.
  bool IsWriting() const;

  // The weights after so many steps are numbers, and gave such a loss and gradient. Only then older
  // checkpoints than theirs go, and theirs is told to the worker.
  void Confirm(int64_t steps_done);
  // No checkpoint beyond the confirmed steps is kept: the run has diverged.
  void Reject();

  // Waits for the write under way, and says meanwhile how far it is. A checkpoint that is neither
  // confirmed nor rejected stays beside the older ones, and nobody is told of it.
  void Finish();

  // The run has failed: the writer touches the reporter no more, and stops waiting for other ranks.
  // From any thread.
  void Abandon();

 private:
  void Copy(const std::vector<strategy::StateSlice>& slices);
  std::vector<strategy::StateSlice> WrittenSlices() const;
  void Write(files::CheckpointPart::Options part, files::CheckpointManifest manifest);
  base::Status WriteOwnPart(files::CheckpointPart::Options part);
  base::Status WriteStaged(files::CheckpointPart& part);
  base::Status Complete(const files::CheckpointPlace& place,
                        const files::CheckpointManifest& manifest);
  bool KeepWaiting(base::SteadyMicros deadline);
  void Set(const std::function<void()>& change);
  enum class Verdict { kGood, kBad, kUnknown };
  // Blocks until it is known whether weights after so many steps are good, or nobody will say.
  Verdict AwaitVerdict(int64_t steps_done);
  void TellAndRotate(const files::CheckpointPlace& place);
  // A step that waits for the disk is slow, not hung. The training thread's.
  void SayWaiting();
  // Unless abandoned: false.
  bool Report(const std::function<void(Reporter&)>& report);

  const CheckpointerOptions options_;
  const int64_t state_bytes_;
  Staging staging_;
  std::thread writer_;
  std::atomic<int64_t> written_bytes_ = 0;  // of the checkpoint under way
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool abandoned_ = false;
  bool rejected_ = false;
  bool finishing_ = false;
  bool writer_done_ = false;
  int64_t confirmed_steps_ = -1;
};

}  // namespace trainctl::train
