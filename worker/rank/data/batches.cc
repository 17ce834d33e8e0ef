#include "worker/rank/data/batches.h"

#include <algorithm>
#include <functional>

#include "common/base/check.h"
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

Batch MakeBatch(const Dataset& dataset, std::span<const int64_t> row_indices,
                int64_t pad_multiple) {
  CHECK(!row_indices.empty() && pad_multiple > 0);
  Batch batch;
  batch.rows = static_cast<int64_t>(row_indices.size());
  for (const int64_t index : row_indices)
    batch.longest_row = std::max<int64_t>(batch.longest_row, dataset.rows[index].length);
  batch.length =
      std::max<int64_t>(1, (batch.longest_row + pad_multiple - 1) / pad_multiple) * pad_multiple;
  batch.inputs.assign(batch.rows * batch.length, kPadToken);
  batch.targets.assign(batch.rows * batch.length, kIgnored);
  for (int64_t i = 0; i < batch.rows; ++i) {
    const auto row_of = [&](std::vector<int64_t>& all) {
      return std::span(all).subspan(i * batch.length, batch.length);
    };
    FillRow(dataset, dataset.rows[row_indices[i]], row_of(batch.inputs), row_of(batch.targets));
  }
  batch.trained_tokens = TrainedTokens(dataset, row_indices);
  return batch;
}

int64_t TrainedTokens(const Dataset& dataset, std::span<const int64_t> row_indices) {
  int64_t trained = 0;
  for (const int64_t index : row_indices) trained += TrainedTokensOf(dataset, dataset.rows[index]);
  return trained;
}

}  // namespace trainctl::data
