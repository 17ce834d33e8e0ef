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

bool IsRateOfSamples(const Row& row) {
  return row.key == job::Name(job::Metric::kSamplesPerSecond) || row.key == "speedup" ||
         row.key == "scaling_efficiency";
}

bool IsComparable(const Row& row, const Comparability& comparability) {
  if (IsRateOfSamples(row)) return comparability.samples;
  if (!IsLoss(row)) return true;
  const bool is_validation = row.key == job::Name(job::Metric::kValLoss);
  return comparability.losses && (!is_validation || comparability.validation_losses);
}

// Whatever else their hosts had to do made them longer.
bool IsMeasuredTime(const Row& row) {
  if (row.key == "speedup" || row.key == "scaling_efficiency") return true;
  const bool is_time = row.unit == "s" || row.unit.ends_with("/s");
  return is_time && row.section == job::Name(job::MetricSection::kTime) &&
         row.key != "predicted_time_seconds";
}

// What a prediction from rates and one from earlier runs differ by is not of the settings.
bool AreAlike(const Row& row, const Run& run, const Run& base) {
  return row.key != "predicted_time_seconds" || SourceOfTime(run) == SourceOfTime(base);
}

void SetDeltas(const std::vector<Run>& runs, size_t base, Row* row) {
  const double* reference = Number(row->values[base]);
  if (reference == nullptr || *reference == 0) return;
  const bool depends_on_amount = DependsOnAmount(*row);
  const Amount amount = AmountOf(runs[base]);
  for (size_t i = 0; i < row->values.size(); ++i) {
    const double* number = Number(row->values[i]);
    if (i == base || number == nullptr || !AreAlike(*row, runs[i], runs[base])) continue;
    if (depends_on_amount && !AmountOf(runs[i]).IsAsMuchAs(amount)) continue;
    row->values[i].delta = (*number - *reference) / std::abs(*reference);
  }
}

// A run that failed or was stopped early proves nothing by being short or small. So only those that
// SUCCEEDED compete; in what depends on the amount of
// training, only those that trained most.
std::vector<Value*> Competing(const std::vector<Run>& runs, Row* row) {
  std::vector<size_t> columns;
  for (size_t i = 0; i < runs.size(); ++i) {
    if (runs[i].outcome == job::Outcome::kSucceeded && Number(row->values[i]) != nullptr)
      columns.push_back(i);
  }
  std::vector<Value*> competing;
  for (const size_t column : columns) {
    const Amount amount = AmountOf(runs[column]);
    const bool is_short = DependsOnAmount(*row) && std::ranges::any_of(columns, [&](size_t other) {
                            return amount.IsLessThan(AmountOf(runs[other]));
                          });
    if (!is_short) competing.push_back(&row->values[column]);
  }
  return competing;
}

void MarkBest(const std::vector<Run>& runs, bool lower, Row* row) {
  const std::vector<Value*> competing = Competing(runs, row);
  if (competing.size() < 2) return;
  const auto [least, most] =
      std::minmax_element(competing.begin(), competing.end(),
                          [](const Value* a, const Value* b) { return *Number(*a) < *Number(*b); });
  const double lowest = *Number(**least);
  const double highest = *Number(**most);
  if (AreEqual(lowest, highest)) return;
  const double best = lower ? lowest : highest;
  for (Value* value : competing) value->best = AreEqual(*Number(*value), best);
}

}  // namespace

void MarkRow(const std::vector<Run>& runs, size_t base, const Comparability& comparability,
             Row* row) {
  if (!IsComparable(*row, comparability)) return;
  if (row->key != "speedup" && row->key != "scaling_efficiency") SetDeltas(runs, base, row);
  const Better better = BetterDirection(row->key);
  if (IsMeasuredTime(*row) && !comparability.times) return;
  if (better != Better::kNeither) MarkBest(runs, better == Better::kLower, row);
}

}  // namespace trainctl::compare
