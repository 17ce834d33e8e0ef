#include "worker/rank/data/batches.h"

#include <algorithm>
#include <functional>

#include "common/base/check.h"
#include "common/model/layout.h"
#include "worker/rank/data/shuffle.h"

namespace trainctl::data {
namespace {

// One row of the batch: position t predicts token t + 1.
void FillRow(const Dataset& dataset, const Row& row, std::span<int64_t> inputs,
             std::span<int64_t> targets) {
  for (int64_t t = 0; t < row.length; ++t) {
    inputs[t] = dataset.tokens[row.begin + t];
    if (t > 0 && t >= row.ignored) targets[t - 1] = inputs[t];
  }
  for (const TokenSpan& span : IgnoredIn(dataset, row)) {
    for (int64_t token = span.begin; token < span.end; ++token) {
      if (token > row.begin) targets[token - row.begin - 1] = kIgnored;
    }
  }
}

// Of so many rows; all positions are padding yet.
Batch EmptyBatch(const Dataset& dataset, int64_t rows, int64_t longest_row) {
  CHECK(rows > 0);
  Batch batch{.rows = rows, .inputs = {}, .targets = {}, .longest_row = longest_row};
  batch.length = job::PaddedLength(longest_row, dataset.max_seq_length);
  batch.inputs.assign(rows * batch.length, kPadToken);
  batch.targets.assign(rows * batch.length, kIgnored);
  return batch;
}

// The row's tokens and targets from that position of the batch on.
void PutRow(const Dataset& dataset, int64_t index, int64_t begin, Batch* batch) {
  const Row& row = dataset.rows[index];
  const auto of_row = [&](std::vector<int64_t>& all) {
    return std::span(all).subspan(begin, row.length);
  };
  FillRow(dataset, row, of_row(batch->inputs), of_row(batch->targets));
  batch->trained_tokens += TrainedTokensOf(dataset, row);
}

}  // namespace

std::vector<int64_t> EpochOrder(int64_t seed, int64_t epoch, std::span<const int64_t> rows) {
  std::vector<int64_t> order(rows.begin(), rows.end());
  Shuffle(seed, base::RandomStream::kEpochOrder, static_cast<uint32_t>(epoch), &order);
  return order;
}

std::vector<int64_t> GroupByLength(const Dataset& dataset, std::vector<int64_t> order,
                                   int64_t global_batch) {
  const int64_t batches = std::ssize(order) / global_batch;
  CHECK(batches > 0) << order.size() << " rows, global batch " << global_batch;
  order.resize(static_cast<size_t>(batches * global_batch));
  const int64_t run = job::RowsSortedTogether(std::ssize(order), global_batch);
  const auto length = [&](int64_t row) { return dataset.rows[row].length; };
  for (int64_t begin = 0; begin < std::ssize(order); begin += run) {
    const auto rows = std::span(order).subspan(begin, std::min(run, std::ssize(order) - begin));
    std::ranges::stable_sort(rows, std::greater<>(), length);
  }
  std::swap(order.front(), *std::ranges::max_element(order, {}, length));
  return order;
}

std::span<const int64_t> MicroBatchRows(std::span<const int64_t> order, int64_t step,
                                        int64_t micro_step, int64_t rank,
                                        const job::BatchPlan& plan) {
  CHECK(rank >= 0 && rank < plan.devices && micro_step >= 0 && micro_step < plan.accumulation)
      << rank << ", " << micro_step;
  const int64_t micro_batch = micro_step * plan.devices + rank;
  const int64_t begin = step * plan.global + micro_batch * plan.micro;
  CHECK(step >= 0 && begin + plan.micro <= static_cast<int64_t>(order.size()))
      << "step " << step << " of " << order.size() << " rows";
  return order.subspan(begin, plan.micro);
}

Batch MakeBatch(const Dataset& dataset, std::span<const int64_t> row_indices) {
  int64_t longest = 0;
  for (const int64_t index : row_indices)
    longest = std::max<int64_t>(longest, dataset.rows[index].length);
  Batch batch = EmptyBatch(dataset, std::ssize(row_indices), longest);
  for (int64_t i = 0; i < batch.rows; ++i)
    PutRow(dataset, row_indices[i], i * batch.length, &batch);
  return batch;
}

Batch MakePackedBatch(const Dataset& dataset, std::span<const Sequence> sequences) {
  int64_t longest = 0;
  for (const Sequence sequence : sequences)
    longest = std::max(longest, LengthOf(dataset, sequence));
  Batch batch = EmptyBatch(dataset, std::ssize(sequences), longest);
  const auto begin_segment = [&](int64_t position) {
    if (batch.segments.empty() || batch.segments.back() < position)
      batch.segments.push_back(position);
  };
  for (int64_t i = 0; i < batch.rows; ++i) {
    int64_t position = i * batch.length;
    for (const int64_t row : sequences[i]) {
      begin_segment(position);
      PutRow(dataset, row, position, &batch);
      position += dataset.rows[row].length;
    }
    begin_segment(position);
  }
  begin_segment(batch.rows * batch.length);
  return batch;
}

int64_t TrainedTokens(const Dataset& dataset, std::span<const int64_t> row_indices) {
  int64_t trained = 0;
  for (const int64_t index : row_indices) trained += TrainedTokensOf(dataset, dataset.rows[index]);
  return trained;
}

}  // namespace trainctl::data
