#include <algorithm>
#include <cmath>
#include <string_view>

#include "common/rank/metric.h"
#include "server/compare/sections.h"

namespace trainctl::compare {
namespace {

// Values that differ by less are shown as ±0 %, and none of them is better.
constexpr double kEqual = 0.0005;

using job::Better;

// Of a metric as its row says; of other rows, speed-up and scaling alone can be better.
Better BetterDirection(std::string_view key) {
  if (key == "speedup" || key == "scaling_efficiency") return Better::kHigher;
  const job::MetricInfo* metric = job::FindMetric(key);
  return metric == nullptr ? Better::kNeither : metric->better;
}

const double* Number(const Value& value) { return std::get_if<double>(&value.value); }

void SetDeltas(size_t base, Row* row) {
  const double* reference = Number(row->values[base]);
  if (reference == nullptr || *reference == 0) return;
  for (size_t i = 0; i < row->values.size(); ++i) {
    const double* number = Number(row->values[i]);
    if (i != base && number != nullptr)
      row->values[i].delta = (*number - *reference) / std::abs(*reference);
  }
}

// A run that failed or was stopped early proves nothing by being short or small, so only those that
// SUCCEEDED compete.
void MarkBest(const std::vector<Run>& runs, bool lower, Row* row) {
  std::vector<Value*> competing;
  for (size_t i = 0; i < runs.size(); ++i) {
    if (runs[i].outcome == job::Outcome::kSucceeded && Number(row->values[i]) != nullptr)
      competing.push_back(&row->values[i]);
  }
  if (competing.size() < 2) return;
  const auto [least, most] =
      std::minmax_element(competing.begin(), competing.end(),
                          [](const Value* a, const Value* b) { return *Number(*a) < *Number(*b); });
  const double lowest = *Number(**least);
  const double highest = *Number(**most);
  if (highest - lowest <= kEqual * std::max(std::abs(lowest), std::abs(highest))) return;
  const double best = lower ? lowest : highest;
  for (Value* value : competing) value->best = *Number(*value) == best;
}

}  // namespace

void MarkRow(const std::vector<Run>& runs, size_t base, Row* row) {
  if (row->key != "speedup" && row->key != "scaling_efficiency") SetDeltas(base, row);
  const Better better = BetterDirection(row->key);
  if (better != Better::kNeither) MarkBest(runs, better == Better::kLower, row);
}

}  // namespace trainctl::compare
