// The parts that Compare puts together; one file each. Inside this room only.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "server/compare/compare.h"

namespace trainctl::compare {

// Settings by which the runs differ, with batch arithmetic resolved (global_batch_size and
// accumulation are always both known).
std::vector<Row> ChangedRows(const std::vector<Run>& runs);
// What all runs have in common, in short words.
std::vector<std::string> SameSettings(const std::vector<Run>& runs);

// Outcome, time, memory, device, loss: every row, those without any value too; without deltas and
// marks.
std::vector<Row> MeasuredRows(const std::vector<Run>& runs, size_t base);

// Deltas against the base and the best marked, in rows whose key has a better direction.
void MarkRow(const std::vector<Run>& runs, size_t base, Row* row);

// Why numbers of these runs must not be read as the effect of the changed settings alone.
std::vector<std::string> ComparabilityWarnings(const std::vector<Run>& runs);

}  // namespace trainctl::compare
