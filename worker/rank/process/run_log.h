// What a person reads in rank 0's log of a run that goes well. Each line stands behind the seconds
// since the rank began:
//
//      0.9 s  training
//      7.1 s  step 1/16  loss 2.841  51.1 tokens/s  peak 1.15 GiB  lr 1e-05
//     98.0 s  step 16/16  validation loss 2.364  evaluated in 3.8 s
//
// Of steps there is at most one line a second, the latest, and of evaluations too. Each phase has a
// line when it begins for the first time. Formatting is left to Take, so that a step only stores a
// few numbers. Not thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "common/base/clock.h"
#include "common/rank/run_phase.h"

namespace trainctl::train {

// A step that was made, of all ranks.
struct LoggedStep {
  int64_t steps_done = 0;
  int64_t steps = 0;           // of the whole run
  std::optional<double> loss;  // none: no token counts
  double tokens_per_second = 0;
  double lr = 0;
  int64_t peak_allocated_bytes = 0;  // of this rank
};

struct LoggedEvaluation {
  int64_t steps_done = 0;
  int64_t steps = 0;
  std::optional<double> val_loss;  // none: it continued texts alone
  double seconds = 0;
};

class RunLog {
 public:
  explicit RunLog(base::SteadyMicros begin) : begin_(begin) {}

  void Phase(job::RunPhase phase, base::SteadyMicros now);
  void Stepped(const LoggedStep& step, base::SteadyMicros now) { step_ = {step, now}; }
  void Evaluated(const LoggedEvaluation& evaluation, base::SteadyMicros now);
  // A file or a folder that was written completely.
  void Saved(const std::string& kind, const std::string& path, int64_t bytes,
             base::SteadyMicros now);

  // The lines that are due. all: those too that wait for their second, as at the run's end.
  std::string Take(base::SteadyMicros now, bool all);

 private:
  template <typename What>
  struct Held {
    What what;
    base::SteadyMicros time;
  };

  void Add(base::SteadyMicros time, const std::string& text);
  void AddStep();
  void AddEvaluation();

  const base::SteadyMicros begin_;
  std::string lines_;
  std::set<job::RunPhase> begun_;
  std::optional<Held<LoggedStep>> step_;
  std::optional<Held<LoggedEvaluation>> evaluation_;
  std::optional<base::SteadyMicros> step_told_, evaluation_told_;
};

}  // namespace trainctl::train
