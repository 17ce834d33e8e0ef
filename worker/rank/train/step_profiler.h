// A trace of some steps of a rank, by LibTorch's profiler (Kineto, and CUPTI below it). It tells
// where their time went, as metrics. The trace itself is a file in Chrome's trace format, for
// Perfetto and chrome://tracing.
//
// From the attempt's profile.skip-th step on, of a short run as late as it can, profile.steps steps
// are told of. The one before them is traced too, since the first step of a trace is slower. A
// trace ends early before an evaluation or a checkpoint. Each rank writes
// <output.dir>/profile/rank-<r>.json; without output.dir there are the metrics alone. Its writing
// is the phase kSaving, which tells how far the file is.
//
// Bound: steps of no more than MostPasses, each of one micro step through one block, but one step
// at least. A pass is some 150 events on a GPU and 550 on a CPU. An event takes 1.6 kB of the
// host's memory while it is traced, and 230 bytes of the file.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "worker/rank/process/rank_context.h"
#include "worker/rank/profile/trace_event.h"

namespace trainctl::train {

class StepProfiler {
 public:
  static int64_t MostPasses(at::Device device) { return device.is_cpu() ? 1024 : 2048; }

  // What rank refers to outlives the profiler.
  struct Run {
    int64_t first_step = 0;  // that the attempt begins with
    int64_t total_steps = 0;
    int64_t passes_per_step = 0;  // micro steps × blocks of the model
  };
  StepProfiler(const RankContext& rank, const Run& run);

  // The trace can't go on behind this step: where it would begin with it, it begins later. At the
  // run's end there is no later, and then it goes without the step before.
  void PutOff(int64_t step);
  bool BeginsAt(int64_t step) const { return step == traced_begin_; }
  bool EndsBehind(int64_t step) const { return is_running_ && step + 1 >= end_; }
  bool is_running() const { return is_running_; }

  // Begin and End are called by one thread, that of the steps, while the device does nothing.
  void Begin();
  // Reports and writes. Tells of what it could not do; never throws for it.
  void End();

 private:
  void Report(const std::vector<profile::TraceEvent>& events);
  void WriteTrace(const std::function<void(const std::string& path)>& save);
  void Tell(const std::string& text);

  const RankContext rank_;
  int64_t begin_ = 0, end_ = 0;  // the steps that are told of
  int64_t traced_begin_ = 0;
  int64_t total_steps_ = 0;
  bool is_running_ = false;
};

}  // namespace trainctl::train
