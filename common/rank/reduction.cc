#include "common/rank/reduction.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <utility>

namespace trainctl::job {
namespace {

using Found = std::vector<const MetricSummary*>;

// Ranks that differ by less are said to be equal.
constexpr double kEqual = 0.0005;

Found Of(Metric metric, std::span<const MetricSummary> summaries) {
  Found found;
  for (const MetricSummary& summary : summaries) {
    if (summary.name == Name(metric) && summary.count > 0) found.push_back(&summary);
  }
  return found;
}

std::string Percent(double ratio) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f %%", 100 * ratio);
  return text;
}

// By rank: the largest over phases.
template <class Value>
std::map<int64_t, double> ByRank(const Found& found, const Value& value) {
  std::map<int64_t, double> ranks;
  for (const MetricSummary* summary : found) {
    const auto [rank, is_new] = ranks.try_emplace(summary->rank.value_or(-1), value(*summary));
    if (!is_new) rank->second = std::max(rank->second, value(*summary));
  }
  return ranks;
}

double Largest(const std::map<int64_t, double>& ranks) {
  return std::ranges::max_element(ranks, {}, [](const auto& rank) { return rank.second; })->second;
}

double SumOf(const std::map<int64_t, double>& ranks) {
  double sum = 0;
  for (const auto& [rank, value] : ranks) sum += value;
  return sum;
}

RunValue WorstRank(const std::map<int64_t, double>& ranks) {
  const double most = Largest(ranks);
  const double least =
      std::ranges::min_element(ranks, {}, [](const auto& rank) { return rank.second; })->second;
  if (least >= (1 - kEqual) * most) return {most, ""};
  return {most, "the least of " + std::to_string(ranks.size()) + " ranks " + Percent(least / most) +
                    " of it"};
}

RunValue LargestPhase(const Found& found) {
  const auto [least, largest] = std::ranges::minmax_element(
      found, {}, [](const MetricSummary* summary) { return summary->max; });
  if ((*least)->max >= (*largest)->max) return {(*largest)->max, ""};
  return {(*largest)->max, std::string(Name((*largest)->phase))};
}

// "87", "0.043"
std::string Rounded(double value) {
  char text[32];
  std::snprintf(text, sizeof text, std::abs(value) < 1 ? "%.2g" : "%.0f", value);
  return text;
}

// A first step, which allocates and compiles, is no step as others are.
bool IsFirstStepAlone(const MetricSummary* summary) {
  return summary->count == 1 && !summary->median;
}

RunValue MeanOfRanks(const std::map<int64_t, double>& ranks) {
  std::string each;
  for (const auto& [rank, mean] : ranks) each += (each.empty() ? "" : ", ") + Rounded(mean);
  return {SumOf(ranks) / static_cast<double>(ranks.size()), ranks.size() > 1 ? each : ""};
}

double Total(const Found& found) {
  return SumOf(ByRank(found, [](const MetricSummary& summary) { return summary.total; }));
}

std::optional<RunValue> Rate(Metric counted, std::span<const MetricSummary> summaries) {
  const double seconds = Total(Of(Metric::kStepSeconds, summaries));
  const Found found = Of(counted, summaries);
  if (seconds <= 0 || found.empty()) return std::nullopt;
  return RunValue{Total(found) / seconds, ""};
}

}  // namespace

std::optional<RunValue> Reduce(Metric metric, std::span<const MetricSummary> summaries) {
  const MetricInfo& info = Info(metric);
  if (info.reduction == Reduction::kRate) return Rate(info.of, summaries);
  const Found found = Of(info.of, summaries);
  if (found.empty()) return std::nullopt;
  switch (info.reduction) {
    case Reduction::kLatest:
      return WorstRank(ByRank(found, [](const MetricSummary& summary) { return summary.latest; }));
    case Reduction::kMedian:
      if (std::ranges::all_of(found, IsFirstStepAlone)) return std::nullopt;
      return RunValue{Largest(ByRank(found,
                                     [](const MetricSummary& summary) {
                                       return summary.median.value_or(summary.mean());
                                     })),
                      ""};
    case Reduction::kTotal: return RunValue{Total(found), ""};
    case Reduction::kRate: break;
    case Reduction::kWorstRank:
      return WorstRank(ByRank(found, [](const MetricSummary& summary) { return summary.max; }));
    case Reduction::kLargestPhase: return LargestPhase(found);
    case Reduction::kLargestPhaseIfAny: {
      const RunValue largest = LargestPhase(found);
      return largest.value > 0 ? std::optional(largest) : std::nullopt;
    }
    case Reduction::kMean:
      return MeanOfRanks(
          ByRank(found, [](const MetricSummary& summary) { return summary.mean(); }));
    case Reduction::kCounter:
      return RunValue{
          SumOf(ByRank(found, [](const MetricSummary& summary) { return summary.max; })), ""};
  }
  return std::nullopt;
}

double Average(const MetricSummary& summary, std::span<const MetricSummary> summaries) {
  const MetricInfo* info = FindMetric(summary.name);
  if (info == nullptr) return summary.mean();
  if (info->reduction == Reduction::kCounter) return summary.latest;
  if (info->reduction != Reduction::kRate) return summary.mean();
  const std::optional<RunValue> rate = Rate(info->of, summaries);
  return rate ? rate->value : summary.mean();
}

std::optional<double> Median(std::vector<double> values) {
  if (values.empty()) return std::nullopt;
  std::ranges::sort(values);
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

int64_t StepsTrained(std::span<const MetricSummary> summaries) {
  const Found found = Of(Metric::kStepSeconds, summaries);
  return found.empty() ? 0 : found.front()->count;
}

}  // namespace trainctl::job
