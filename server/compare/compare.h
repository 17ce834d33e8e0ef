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

#include "common/estimate/inspection.h"
#include "common/estimate/prediction.h"
#include "common/job/job.h"
#include "common/job/neighbour.h"
#include "common/job/outcome.h"
#include "common/rank/metric.h"
#include "common/rank/rank_messages.h"

namespace trainctl::compare {

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
  std::string device_name;  // "NVIDIA H200"
  std::string host;         // of several: joined by the caller, in order of rank
  std::string driver;
  std::string libtorch;
  std::string nccl;
  std::string commit;
  std::vector<job::Neighbour> neighbours;
  std::vector<job::MetricSummary> metrics;           // with medians
  std::vector<job::RankContinuation> continuations;  // of the first and the last evaluation
};

// A cell. monostate: not known, never measured, or null in the job file.
struct Value {
  std::variant<std::monostate, double, std::string> value;
  std::optional<double>
      delta;  // (value − base) / base, of numbers that were measured, not of the base itself
  // Among the runs that SUCCEEDED. What equals the best to 0.05 % is too; where all do none is.
  bool best = false;
  std::string note;  // the spread over ranks, the phase, marks: for people

  bool empty() const { return std::holds_alternative<std::monostate>(value); }
};

struct Row {
  std::string key;      // "train.micro_batch_size", "tokens_per_second", "outcome", "speedup", …
  std::string label;    // for people
  std::string unit;     // as job::MetricInfo's; "×" of speedup
  std::string section;  // changed | outcome | time | memory | device | loss | texts, in this order
  std::vector<Value> values;  // one a run
};

// Why numbers of these runs must not be read as the effect of the changed settings alone.
struct Warning {
  std::string text;
  std::vector<std::string> sections;  // of the table, whose numbers it makes doubtful
};

struct Table {
  std::vector<Row> rows;          // a row in which no run has a value is left out, but outcome
  std::vector<std::string> same;  // "model TinyLlama-1.1B", …: what all have in common
  std::vector<Warning> warnings;  // why the runs are not comparable
};

// Compares in the order given; `base` is an index into runs, of which there is at least one.
//
// A run that ended OOM has its settings, outcome and prediction; nothing was measured that could be
// compared. Metrics are reduced as their rows say (common/rank/metric.h). speedup is samples/s over
// the base's, both as shown; scaling_efficiency is speedup over the ratio of device counts, of runs
// that differ from the base in their gang alone. What grows with the training (time, energy) has a
// delta and a best among runs that trained as many rows; so has the loss. Between runs of which a
// warning calls the values not comparable there is no delta, best, speed-up or scaling efficiency.
// Predicted times that come from earlier runs and from rates have no delta against each other: each
// says where it comes from.
Table Compare(const std::vector<Run>& runs, size_t base);

}  // namespace trainctl::compare
