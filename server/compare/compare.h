// The comparison of runs, ready to print: only what was changed, then outcome, time, memory, device
// and loss, each value beside the base's. Pure functions of what the coordinator stored; a row's
// key is a setting's or a metric's name, stable for scripts. Thread-safe: values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "common/estimate/model_shape.h"
#include "common/estimate/prediction.h"
#include "common/job/job.h"
#include "common/job/outcome.h"

namespace trainctl::compare {

// A metric of a run as kept at ingestion, for each name, rank and phase (the store's MetricSummary,
// plus the median where it is known).
struct MetricSummary {
  std::string name;
  std::optional<int64_t> rank;  // null: of the whole gang
  std::string phase;            // of memory metrics: a job::Phase's name; else empty
  double latest = 0;
  double min = 0;
  double max = 0;
  double mean = 0;
  int64_t count = 0;  // points; a summary of none is ignored
  std::optional<double>
      median;  // of the steady state: of step_seconds it stands for the run instead of the mean
};

// One column. Strings that are not known are empty and then neither compared nor warned about.
struct Run {
  std::string id;  // "j12"
  std::string name;
  job::JobState state = job::JobState::kQueued;
  std::optional<job::Outcome> outcome;  // of FINISHED
  std::optional<bool> as_expected;      // of FINISHED with an expectation
  job::JobSpec job;                     // with the proven micro batch where "auto" was asked
  std::optional<job::Inspection> inspection;
  std::optional<job::Prediction> prediction;
  int64_t attempts =
      1;  // but those that a trial of the micro batch ended; more than 1: restarted or preempted
  bool preempted = false;   // some attempt ended PREEMPTED
  int64_t steps = 0;        // optimizer steps of the whole run; 0: not known
  std::string device_name;  // "NVIDIA H200"
  std::string host;         // of several: joined by the caller, in order of rank
  std::string driver;
  std::string libtorch;
  std::string nccl;
  std::string commit;
  std::vector<MetricSummary> metrics;
};

// A cell. monostate: not known, never measured, or null in the job file.
struct Value {
  std::variant<std::monostate, double, std::string> value;
  std::optional<double>
      delta;  // (value − base) / base, of numbers that were measured, not of the base itself
  bool best = false;  // among the runs that SUCCEEDED; where all are equal to 0.05 % none is
  std::string note;   // the spread over ranks, the phase, marks: for people

  bool empty() const { return std::holds_alternative<std::monostate>(value); }
};

struct Row {
  std::string key;      // "train.micro_batch_size", "tokens_per_second", "outcome", "speedup", …
  std::string label;    // for people
  std::string unit;     // as job::MetricInfo's; "×" of speedup
  std::string section;  // changed | outcome | time | memory | device | loss, in this order
  std::vector<Value> values;  // one a run
};

struct Table {
  std::vector<Row> rows;              // a row in which no run has a value is left out, but outcome
  std::vector<std::string> same;      // "model TinyLlama-1.1B", …: what all have in common
  std::vector<std::string> warnings;  // why the runs are not comparable
};

// Compares in the order given; `base` is an index into runs, of which there is at least one.
//
// A run that ended OOM has its settings, outcome and prediction; nothing was measured that could be
// compared. speedup is samples/s over the base's; scaling_efficiency is speedup over the ratio of
// device counts, shown where those differ. Memory is the worst rank's; memory by kind is taken at
// the phase where the kind was largest. Energy is the sum over GPUs of what their counters grew.
Table Compare(const std::vector<Run>& runs, size_t base);

}  // namespace trainctl::compare
