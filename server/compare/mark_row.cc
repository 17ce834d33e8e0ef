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

bool AreEqual(double a, double b) {
  return std::abs(a - b) <= kEqual * std::max(std::abs(a), std::abs(b));
}

const double* Number(const Value& value) { return std::get_if<double>(&value.value); }

// It grows with the training: less of it is better only for as much training.
bool IsCost(std::string_view key) {
  if (key == "predicted_time_seconds") return true;
  const job::MetricInfo* metric = job::FindMetric(key);
  return metric != nullptr && metric->better != Better::kNeither &&
         (metric->reduction == job::Reduction::kTotal ||
          metric->reduction == job::Reduction::kCounter);
}

bool IsLoss(const Row& row) { return row.section == job::Name(job::MetricSection::kLoss); }

bool DependsOnAmount(const Row& row) { return IsLoss(row) || IsCost(row.key); }

// What a prediction from rates and one from earlier runs differ by is not of the settings.
bool AreAlike(const Row& row, const Run& run, const Run& base) {
  return row.key != "predicted_time_seconds" || SourceOfTime(run) == SourceOfTime(base);
}

void SetDeltas(const std::vector<Run>& runs, size_t base, const Comparability& comparability,
               Row* row) {
  const double* reference = Number(row->values[base]);
  if (reference == nullptr || *reference == 0) return;
  const bool depends_on_amount = DependsOnAmount(*row);
  const Amount amount = AmountOf(runs[base]);
  for (size_t i = 0; i < row->values.size(); ++i) {
    const double* number = Number(row->values[i]);
    if (i == base || number == nullptr || !AreAlike(*row, runs[i], runs[base])) continue;
    if (depends_on_amount && !AmountOf(runs[i]).IsAsMuchAs(amount)) continue;
    if (!comparability.AreComparable(*row, i, base)) continue;
    row->values[i].delta = (*number - *reference) / std::abs(*reference);
  }
}

// The places of the runs whose values compete. A run that failed or was stopped early proves
// nothing by being short or small: only those that SUCCEEDED compete. In what depends on the amount
// of training only those that trained most do. Of values that are not comparable none is the best.
std::vector<size_t> Competing(const std::vector<Run>& runs, const Comparability& comparability,
                              const Row& row) {
  std::vector<size_t> columns;
  for (size_t i = 0; i < runs.size(); ++i) {
    if (runs[i].outcome == job::Outcome::kSucceeded && Number(row.values[i]) != nullptr)
      columns.push_back(i);
  }
  std::vector<size_t> competing;
  for (const size_t column : columns) {
    const Amount amount = AmountOf(runs[column]);
    const bool is_short = DependsOnAmount(row) && std::ranges::any_of(columns, [&](size_t other) {
                            return amount.IsLessThan(AmountOf(runs[other]));
                          });
    if (!is_short) competing.push_back(column);
  }
  for (const size_t one : competing) {
    for (const size_t other : competing) {
      if (!comparability.AreComparable(row, one, other)) return {};
    }
  }
  return competing;
}

void MarkBest(const std::vector<size_t>& competing, bool lower, Row* row) {
  if (competing.size() < 2) return;
  const auto value_of = [row](size_t place) { return *Number(row->values[place]); };
  const auto [least, most] = std::ranges::minmax(competing, {}, value_of);
  const double lowest = value_of(least), highest = value_of(most);
  if (AreEqual(lowest, highest)) return;
  const double best = lower ? lowest : highest;
  for (const size_t place : competing) row->values[place].best = AreEqual(value_of(place), best);
}

}  // namespace

void MarkRow(const std::vector<Run>& runs, size_t base, const Comparability& comparability,
             Row* row) {
  if (row->key != "speedup" && row->key != "scaling_efficiency")
    SetDeltas(runs, base, comparability, row);
  const Better better = BetterDirection(row->key);
  if (better != Better::kNeither)
    MarkBest(Competing(runs, comparability, *row), better == Better::kLower, row);
}

}  // namespace trainctl::compare
