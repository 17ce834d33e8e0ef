// Which rows a rank computes in which micro step, and those rows as padded arrays. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/job/batch.h"
#include "worker/rank/data/dataset.h"
#include "worker/rank/data/packing.h"

namespace trainctl::data {

constexpr int64_t kIgnored = -100;  // a target that neither trains nor counts
constexpr int64_t kPadToken = 0;

// The rows in this epoch's order: a Fisher–Yates shuffle by Philox of (seed, epoch); the same on
// every rank.
std::vector<int64_t> EpochOrder(int64_t seed, int64_t epoch, std::span<const int64_t> rows);

// The same order with rows of similar length together, as transformers' group_by_length: runs of
// job::RowsSortedTogether, each from the longest row to the shortest. The longest of all comes
// first. Rows that fill no global batch are left out before, so that they are not the short ones.
// CHECKs that there is a whole batch.
std::vector<int64_t> GroupByLength(const Dataset& dataset, std::vector<int64_t> order,
                                   int64_t global_batch);

// The rows of one micro step of one rank, micro of them. step counts optimizer steps from the
// epoch's start, micro_step from 0 to accumulation − 1. Micro batch k of a step holds rows k·micro
// … of the step's global rows. It belongs to rank k mod devices, as its micro step k div devices.
// So n ranks × accumulation a see the same micro batches as 1 rank × n·a. CHECKs that the step lies
// within the epoch.
std::span<const int64_t> MicroBatchRows(std::span<const int64_t> order, int64_t step,
                                        int64_t micro_step, int64_t rank,
                                        const job::BatchPlan& plan);

// Row-major [rows × length], where packed sequences count as rows.
struct Batch {
  int64_t rows = 0;
  int64_t length = 0;  // job::PaddedLength of the longest row
  std::vector<int64_t> inputs;
  std::vector<int64_t> targets;  // shifted: targets[t] is the label of position t + 1; kIgnored
                                 // where masked, padded or last
  int64_t trained_tokens = 0;    // targets that are not kIgnored
  int64_t longest_row =
      0;  // positions before rounding; rows × longest_row is what tokens_per_second counts
  std::vector<int64_t> segments;  // of packed sequences: where each row and each padding begins
                                  // among all positions, and their end
};

// Right-padded. row_indices index dataset.rows; at least one.
Batch MakeBatch(const Dataset& dataset, std::span<const int64_t> row_indices);

// The same of packed sequences: their rows one behind the other, the padding behind the last.
Batch MakePackedBatch(const Dataset& dataset, std::span<const Sequence> sequences);

// Targets of these rows that are not kIgnored, without making the batch: the divisor of a step's
// loss, known before its forward.
int64_t TrainedTokens(const Dataset& dataset, std::span<const int64_t> row_indices);

}  // namespace trainctl::data
