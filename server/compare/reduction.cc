#include "server/compare/reduction.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <utility>

namespace trainctl::compare {
namespace {

Value Number(double number, std::string note = "") {
  return Value{.value = number, .note = std::move(note)};
}

const MetricSummary* OfGang(const Summaries& summaries) {
  for (const MetricSummary* summary : summaries) {
    if (!summary->rank) return summary;
  }
  return nullptr;
}

Value NoneIfZero(const Value& value) {
  const double* number = std::get_if<double>(&value.value);
  return number != nullptr && *number > 0 ? value : Value{};
}

std::string Percent(double ratio) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f %%", 100 * ratio);
  return text;
}

}  // namespace

Value Latest(const Summaries& summaries) {
  if (summaries.empty()) return {};
  if (const MetricSummary* gang = OfGang(summaries)) return Number(gang->latest);
  double worst = summaries.front()->latest;
  for (const MetricSummary* summary : summaries) worst = std::max(worst, summary->latest);
  return Number(worst);
}

Value LatestIfAny(const Summaries& summaries) { return NoneIfZero(Latest(summaries)); }

Value StepSeconds(const Summaries& summaries) {
  if (summaries.empty()) return {};
  const auto typical = [](const MetricSummary* summary) {
    return summary->median.value_or(summary->mean);
  };
  if (const MetricSummary* gang = OfGang(summaries)) return Number(typical(gang));
  double slowest = 0;
  for (const MetricSummary* summary : summaries) slowest = std::max(slowest, typical(summary));
  return Number(slowest);
}

Value Rate(const Summaries& summaries) {
  if (summaries.empty()) return {};
  if (const MetricSummary* gang = OfGang(summaries)) return Number(gang->mean);
  double sum = 0;
  for (const MetricSummary* summary : summaries) sum += summary->mean;
  return Number(sum);
}

Value WorstBytes(const Summaries& summaries) {
  std::map<int64_t, double> of_rank;
  for (const MetricSummary* summary : summaries) {
    double& most = of_rank[summary->rank.value_or(0)];
    most = std::max(most, summary->max);
  }
  if (of_rank.empty()) return {};
  const auto less = [](const auto& a, const auto& b) { return a.second < b.second; };
  const double least = std::min_element(of_rank.begin(), of_rank.end(), less)->second;
  const double most = std::max_element(of_rank.begin(), of_rank.end(), less)->second;
  if (least > 0.9995 * most) return Number(most);
  return Number(most, "the least of " + std::to_string(of_rank.size()) + " ranks " +
                          Percent(least / most) + " of it");
}

Value LargestPhase(const Summaries& summaries) {
  if (summaries.empty()) return {};
  const auto [least, largest] = std::minmax_element(
      summaries.begin(), summaries.end(),
      [](const MetricSummary* a, const MetricSummary* b) { return a->max < b->max; });
  return Number((*largest)->max, (*least)->max < (*largest)->max ? (*largest)->phase : "");
}

Value LargestPhaseIfAny(const Summaries& summaries) { return NoneIfZero(LargestPhase(summaries)); }

Value MeanOverDevices(const Summaries& summaries) {
  if (summaries.empty()) return {};
  std::map<int64_t, double> of_rank;
  for (const MetricSummary* summary : summaries) of_rank[summary->rank.value_or(0)] = summary->mean;
  double sum = 0;
  std::string each;
  for (const auto& [rank, mean] : of_rank) {
    sum += mean;
    each += (each.empty() ? "" : ", ") + std::to_string(std::lround(mean));
  }
  return Number(sum / static_cast<double>(of_rank.size()), of_rank.size() > 1 ? each : "");
}

Value GrowthOverDevices(const Summaries& summaries) {
  if (summaries.empty()) return {};
  double sum = 0;
  for (const MetricSummary* summary : summaries) sum += summary->max - summary->min;
  return Number(sum);
}

}  // namespace trainctl::compare
