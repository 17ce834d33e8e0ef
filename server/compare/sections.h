// The parts that Compare puts together; one file each. Inside this room only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "common/rank/metric.h"
#include "server/compare/compare.h"
#include "server/compare/doubts.h"

namespace trainctl::compare {

// Settings by which the runs differ, with batch arithmetic resolved (global_batch_size and
// accumulation are always both known); and the revisions of models of the hub.
std::vector<Row> ChangedRows(const std::vector<Run>& runs);
// What all runs have in common, in short words.
std::vector<std::string> SameSettings(const std::vector<Run>& runs);

// Whether the two differ in devices and strategy alone, and in what follows: either accumulation
// or the global batch. Where they save, and how they are queued, does not count.
bool DifferInGangAlone(const Run& left, const Run& right);

// How much a run has trained. Of two runs the amounts are equal where the rows are; of runs that
// did not count rows, the steps decide.
struct Amount {
  int64_t steps = 0;
  double rows = 0;  // 0: not counted

  bool IsLessThan(const Amount& other) const;
  bool IsAsMuchAs(const Amount& other) const {
    return !IsLessThan(other) && !other.IsLessThan(*this);
  }
};
Amount AmountOf(const Run& run);

// What was measured of a run that ended out of memory is not of the whole run: nothing of it is
// comparable.
bool HasMeasurements(const Run& run);

// What the run's predicted time was taken from: "rates" | "earlier runs"; empty: it has none.
std::string SourceOfTime(const Run& run);

// The metric's row, without values.
Row RowOf(const job::MetricInfo& metric);
// Outcome, time, memory, device, loss: every row, those without any value too; without deltas and
// marks. Speed-up and scaling have values of runs whose rates are comparable with the base's alone.
std::vector<Row> MeasuredRows(const std::vector<Run>& runs, size_t base,
                              const Comparability& comparability);

// What each run's model makes of the prompts: for each prompt a row of the first evaluation and one
// of the last, "text_first.<n>" and "text_last.<n>". The step is the note. A text of a run that was
// evaluated once is in the first row alone.
std::vector<Row> TextRows(const std::vector<Run>& runs);

// What a warning makes doubtful is defined with it, in comparability.cc and loss_doubts.cc alone.
Comparability ComparabilityOf(const std::vector<Run>& runs);

// Deltas against the base and the best marked, in rows whose key has a better direction. Losses and
// totals of time and energy are compared among runs that trained as much. Values that a warning
// calls not comparable have neither.
void MarkRow(const std::vector<Run>& runs, size_t base, const Comparability& comparability,
             Row* row);

}  // namespace trainctl::compare
