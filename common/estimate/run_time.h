// How long a job will take: a prediction. It comes from earlier runs of the same shape on the same
// device, if there are any. Else it comes from floating point operations and bytes at the device's
// rates (step_time.h). Evaluation is a third of training. Start and load are those of earlier runs
// of the model on the device. Where only other models ran there, the start is theirs, and loading
// is counted at 2 GB/s. Where nothing ran, a start is 10 s. On GPUs the first step takes longer,
// since kernels are loaded meanwhile. Of a job that goes on from a checkpoint only what remains is
// counted. Pure, thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/ids.h"
#include "common/estimate/inspection.h"
#include "common/job/job.h"

namespace trainctl::job {

// Which runs a start is taken from, the nearest to the job first.
enum class StartSource {
  kAlike,        // of the same StartKey
  kModel,        // of the model, on other devices or with other weights
  kOtherModels,  // these tell how long a process takes, not how long the model loads
};

std::string_view Name(StartSource source);  // "alike" | "model" | "other models"
std::optional<StartSource> ParseStartSource(std::string_view name);

struct TimeEstimate {
  double step_seconds = 0;      // of one optimizer step
  double training_seconds = 0;  // the training loop: what the runs' `time` is compared with
  double evaluation_seconds = 0;
  double total_seconds = 0;  // of these, with start and load
  int64_t earlier_runs = 0;  // that the step is taken from; 0: from rates
  bool disturbed = false;    // other work on their hosts slowed these runs
  std::string device_name;
  double start_seconds = 0;  // from the placement until the rank's process loads
  double load_seconds = 0;   // what the runs' `load_seconds` is compared with
  int64_t start_runs = 0;    // that these are taken from; 0: from bytes
  StartSource start_source = StartSource::kAlike;  // of other models: the start alone
  std::optional<double> device_watts = {};  // that one device draws; nullopt: no run measured it
  // By the device's rates, wherever step_seconds is from; nullopt: it has none. Not stored.
  std::optional<double> rates_step_seconds = {};
  bool one_step = false;  // training_seconds are its first step's: it is to run out of memory
  bool claimed = false;   // on the word of whoever submitted: the queue does not go by it
  // What the coordinator believes of the whole run where that is more than was predicted.
  std::optional<double> believed_seconds = {};

  double QueueSeconds() const { return believed_seconds.value_or(total_seconds); }
};

// Runs of one shape that SUCCEEDED on devices of one model.
struct EarlierRuns {
  std::string device_name;
  double step_seconds = 0;  // of an optimizer step: the median of the runs' medians
  int64_t runs = 0;
  base::JobId latest;
  std::optional<double> watts = {};  // of one device: the median of the runs' means
  bool disturbed = false;            // other work on their hosts slowed them all
};

// What one device of this model drew while jobs of any shape ran on it: the median of their means.
struct DevicePower {
  std::string device_name;
  double watts = 0;
  int64_t runs = 0;  // that SUCCEEDED
};

// What runs took until their first step, on devices of one model. Medians.
struct EarlierStarts {
  std::string device_name;
  double start_seconds = 0;  // from the placement until the rank's process loads
  double load_seconds = 0;
  int64_t runs = 0;  // that SUCCEEDED
  StartSource source = StartSource::kAlike;
};

// Of one job, by device, the one that ran last first.
struct EarlierTimes {
  std::vector<EarlierRuns> runs;
  std::vector<EarlierStarts> starts;
};

// What the step time of a job depends on, as text: equal for runs of the same shape (model, data,
// T, micro batch, accumulation, precision, strategy, devices, method, engine; with fsdp and
// accumulation the memory limit, by which gradients are held whole or not). Two runs with equal
// keys on equal devices take the same time a step.
std::string ShapeKey(const JobSpec& job, const Inspection& inspection);

// As well, of what start and load depend on: the model and how its weights are had, quantization,
// devices, and whether a checkpoint is read. The device's name stands for its host.
std::string StartKey(const JobSpec& job, const Inspection& inspection);
// As well: the shape of the model alone.
std::string ModelKey(const Inspection& inspection);

// From FLOPs and bytes. nullopt: the device is not in the table of rates, or the data do not make a
// step. holds_gradients as in gradient_holding.h.
std::optional<TimeEstimate> EstimateTime(const JobSpec& job, const Inspection& inspection,
                                         std::string_view device_name,
                                         bool holds_gradients = false);

// On the device of earlier runs of its shape. nullopt: the data do not make a step.
std::optional<TimeEstimate> EstimateTimeFromRuns(const JobSpec& job, const Inspection& inspection,
                                                 const EarlierRuns& earlier);

// The same training in steps of another length: its loop and its evaluations follow.
void SetStep(double step_seconds, TimeEstimate* estimate);

// The estimate's device_watts where runs of its own shape have not told them.
void CountPower(const std::vector<DevicePower>& measured, TimeEstimate* estimate);

// Start and load as these runs took, in place of what was estimated. Of runs of other models the
// start alone.
void CountStart(const EarlierStarts& measured, TimeEstimate* estimate);

// The parts add up to the total.
//   "1 h 3 min, 58 min of it training (0.84 s a step)[, 4 min 30 s evaluation], predicted from
//   3 earlier runs on NVIDIA H200[, whose host others used too] | the rates of NVIDIA H200;
//   14 s until its first step, assumed | as in 2 earlier runs [of this model | of other models]"
std::string TimeText(const TimeEstimate& estimate);

}  // namespace trainctl::job
