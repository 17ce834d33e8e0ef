#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <string_view>
#include <utility>

#include "common/base/check.h"
#include "common/job/metric.h"
#include "server/compare/sections.h"

namespace trainctl::compare {
namespace {

using SummaryField = double MetricSummary::*;

// What was measured of a run that ended out of memory is not of the whole run: nothing of it is comparable.
bool HasMeasurements(const Run& run) { return run.outcome != job::Outcome::kOomGpu && run.outcome != job::Outcome::kOomHost; }

std::vector<const MetricSummary*> SummariesOf(const Run& run, std::string_view name) {
  std::vector<const MetricSummary*> found;
  for (const MetricSummary& summary : run.metrics) {
    if (summary.name == name && summary.count > 0) found.push_back(&summary);
  }
  return found;
}

const MetricSummary* OfGang(const std::vector<const MetricSummary*>& summaries) {
  for (const MetricSummary* summary : summaries) {
    if (!summary->rank) return summary;
  }
  return nullptr;
}

Value Number(double number, std::string note = "") { return Value{.value = number, .note = std::move(note)}; }

// ---- one function for each way in which a run's summaries become one value ----

// The gang's own value; where only ranks said it, the worst.
Value Latest(const std::vector<const MetricSummary*>& summaries) {
  if (summaries.empty()) return {};
  if (const MetricSummary* gang = OfGang(summaries)) return Number(gang->latest);
  double worst = summaries.front()->latest;
  for (const MetricSummary* summary : summaries) worst = std::max(worst, summary->latest);
  return Number(worst);
}

Value StepSeconds(const std::vector<const MetricSummary*>& summaries) {
  if (summaries.empty()) return {};
  const auto typical = [](const MetricSummary* summary) { return summary->median.value_or(summary->mean); };
  if (const MetricSummary* gang = OfGang(summaries)) return Number(typical(gang));
  double slowest = 0;
  for (const MetricSummary* summary : summaries) slowest = std::max(slowest, typical(summary));
  return Number(slowest);
}

// The gang's rate, or the sum of its ranks'.
Value Rate(const std::vector<const MetricSummary*>& summaries) {
  if (summaries.empty()) return {};
  if (const MetricSummary* gang = OfGang(summaries)) return Number(gang->mean);
  double sum = 0;
  for (const MetricSummary* summary : summaries) sum += summary->mean;
  return Number(sum);
}

std::string Percent(double ratio) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f %%", 100 * ratio);
  return text;
}

// The worst rank, and the spread where ranks differ.
Value WorstBytes(const std::vector<const MetricSummary*>& summaries) {
  std::map<int64_t, double> of_rank;
  for (const MetricSummary* summary : summaries) {
    double& most = of_rank[summary->rank.value_or(0)];
    most = std::max(most, summary->max);
  }
  if (of_rank.empty()) return {};
  const auto less = [](const auto& a, const auto& b) { return a.second < b.second; };
  const double least = std::min_element(of_rank.begin(), of_rank.end(), less)->second;
  const double most = std::max_element(of_rank.begin(), of_rank.end(), less)->second;
  if (least == most) return Number(most);
  return Number(most, "the least of " + std::to_string(of_rank.size()) + " ranks " + Percent(least / most) + " of it");
}

// The largest of any rank and phase, and which phase that was.
Value LargestPhase(const std::vector<const MetricSummary*>& summaries) {
  const auto largest = std::max_element(summaries.begin(), summaries.end(),
                                        [](const MetricSummary* a, const MetricSummary* b) { return a->max < b->max; });
  if (largest == summaries.end()) return {};
  return Number((*largest)->max, (*largest)->max > 0 ? (*largest)->phase : "");
}

// The mean over devices, and each device's own where there are more than one, as nvtop shows them.
Value MeanOverDevices(const std::vector<const MetricSummary*>& summaries) {
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

Value GrowthOverDevices(const std::vector<const MetricSummary*>& summaries) {
  if (summaries.empty()) return {};
  double sum = 0;
  for (const MetricSummary* summary : summaries) sum += summary->max - summary->min;
  return Number(sum);
}

// ---- the table of rows ----

struct MeasuredRow {
  std::string_view metric;  // the row's key
  std::string_view section;
  Value (*value)(const std::vector<const MetricSummary*>&);
};

constexpr MeasuredRow kTimeRows[] = {
    {"time_seconds", "time", Latest},
    {"load_seconds", "time", Latest},
    {"evaluation_seconds", "time", Latest},
    {"save_seconds", "time", Latest},
    {"step_seconds", "time", StepSeconds},
    {"samples_per_second", "time", Rate},
    {"tokens_per_second", "time", Rate},
    {"trained_tokens_per_second", "time", Rate},
};

constexpr MeasuredRow kMemoryRows[] = {
    {"memory_peak_allocated_bytes", "memory", WorstBytes},
    {"memory_reserved_bytes", "memory", WorstBytes},
    {"memory_params_bytes", "memory", LargestPhase},
    {"memory_grads_bytes", "memory", LargestPhase},
    {"memory_optimizer_bytes", "memory", LargestPhase},
    {"memory_optimizer_cpu_bytes", "memory", LargestPhase},
    {"memory_other_bytes", "memory", LargestPhase},
};

constexpr MeasuredRow kDeviceRows[] = {
    {"gpu_utilization_percent", "device", MeanOverDevices},
    {"gpu_power_watts", "device", MeanOverDevices},
    {"gpu_energy_joules", "device", GrowthOverDevices},
    {"host_cpu_percent", "device", MeanOverDevices},
};

constexpr MeasuredRow kLossRows[] = {
    {"loss", "loss", Latest},
    {"val_loss", "loss", Latest},
};

Row ToRow(const MeasuredRow& measured, const std::vector<Run>& runs) {
  const job::MetricInfo* metric = job::FindMetric(measured.metric);
  CHECK(metric != nullptr) << measured.metric;
  Row row{.key = std::string(measured.metric),
          .label = std::string(metric->label),
          .unit = std::string(metric->unit),
          .section = std::string(measured.section)};
  for (const Run& run : runs) {
    row.values.push_back(HasMeasurements(run) ? measured.value(SummariesOf(run, measured.metric)) : Value{});
  }
  return row;
}

// ---- rows that are no metric ----

std::string OutcomeNote(const Run& run) {
  std::string note;
  const auto add = [&note](const std::string& words) { note += (note.empty() ? "" : ", ") + words; };
  if (run.as_expected) add(*run.as_expected ? "as expected" : "not as expected");
  if (run.preempted) add("preempted");
  if (run.attempts > 1) add(std::to_string(run.attempts) + " attempts");
  return note;
}

Row OutcomeRow(const std::vector<Run>& runs) {
  Row row{.key = "outcome", .label = "outcome", .section = "outcome"};
  for (const Run& run : runs) {
    const std::string_view name = run.outcome ? job::Name(*run.outcome) : job::Name(run.state);
    row.values.push_back(Value{.value = std::string(name), .note = OutcomeNote(run)});
  }
  return row;
}

Row SpeedupRow(const std::vector<Run>& runs, const Row& samples_per_second, size_t base) {
  Row row{.key = "speedup", .label = "speed-up", .unit = "×", .section = "time", .values = std::vector<Value>(runs.size())};
  const double* reference = std::get_if<double>(&samples_per_second.values[base].value);
  if (reference == nullptr || *reference <= 0) return row;
  for (size_t i = 0; i < runs.size(); ++i) {
    if (const double* rate = std::get_if<double>(&samples_per_second.values[i].value)) row.values[i].value = *rate / *reference;
  }
  return row;
}

Row ScalingRow(const std::vector<Run>& runs, const Row& speedup, size_t base) {
  Row row{.key = "scaling_efficiency", .label = "scaling efficiency", .unit = "%", .section = "time", .values = std::vector<Value>(runs.size())};
  const bool same_devices =
      std::all_of(runs.begin(), runs.end(), [&](const Run& run) { return run.job.devices == runs.front().job.devices; });
  if (same_devices) return row;
  for (size_t i = 0; i < runs.size(); ++i) {
    const double* times = std::get_if<double>(&speedup.values[i].value);
    const double ratio = static_cast<double>(runs[i].job.devices) / static_cast<double>(runs[base].job.devices);
    if (times != nullptr) row.values[i].value = 100 * *times / ratio;
  }
  return row;
}

Row PredictedPeakRow(const std::vector<Run>& runs) {
  Row row{.key = "predicted_peak_bytes", .label = "predicted peak", .unit = "bytes", .section = "memory"};
  for (const Run& run : runs) {
    row.values.push_back(run.prediction ? Number(static_cast<double>(run.prediction->peak_allocated)) : Value{});
  }
  return row;
}

// Where runs made a different number of steps, their times say little without it.
void NoteSteps(const std::vector<Run>& runs, Row* time) {
  const bool same = std::all_of(runs.begin(), runs.end(), [&](const Run& run) { return run.steps == runs.front().steps; });
  if (same) return;
  for (size_t i = 0; i < runs.size(); ++i) {
    if (!time->values[i].empty() && runs[i].steps > 0) time->values[i].note = std::to_string(runs[i].steps) + " steps";
  }
}

void AddTimeRows(const std::vector<Run>& runs, size_t base, std::vector<Row>* rows) {
  Row samples_per_second;
  for (const MeasuredRow& measured : kTimeRows) {
    rows->push_back(ToRow(measured, runs));
    if (measured.metric == "time_seconds") NoteSteps(runs, &rows->back());
    if (measured.metric == "samples_per_second") samples_per_second = rows->back();
  }
  rows->push_back(SpeedupRow(runs, samples_per_second, base));
  rows->push_back(ScalingRow(runs, rows->back(), base));
}

}  // namespace

std::vector<Row> MeasuredRows(const std::vector<Run>& runs, size_t base) {
  std::vector<Row> rows = {OutcomeRow(runs)};
  AddTimeRows(runs, base, &rows);
  for (const MeasuredRow& measured : kMemoryRows) rows.push_back(ToRow(measured, runs));
  rows.push_back(PredictedPeakRow(runs));
  for (const MeasuredRow& measured : kDeviceRows) rows.push_back(ToRow(measured, runs));
  for (const MeasuredRow& measured : kLossRows) rows.push_back(ToRow(measured, runs));
  return rows;
}

}  // namespace trainctl::compare
