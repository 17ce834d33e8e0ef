#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "common/base/plural.h"
#include "common/base/size.h"
#include "common/rank/reduction.h"
#include "server/compare/sections.h"

namespace trainctl::compare {
namespace {

// The last loss that is a number says nothing of a run that has none any more.
bool Measures(const Run& run, job::MetricSection section) {
  return HasMeasurements(run) &&
         (section != job::MetricSection::kLoss || run.outcome != job::Outcome::kDiverged);
}

Row ToRow(const job::MetricInfo& metric, const std::vector<Run>& runs) {
  Row row = RowOf(metric);
  for (const Run& run : runs) {
    Value& value = row.values.emplace_back();
    if (!Measures(run, metric.section)) continue;
    if (auto measured = job::Reduce(metric.id, run.metrics))
      value = {.value = measured->value, .note = std::move(measured->note)};
  }
  return row;
}

// ---- rows that are no metric ----

std::string OutcomeNote(const Run& run) {
  std::string note;
  const auto add = [&note](const std::string& words) {
    note += (note.empty() ? "" : ", ") + words;
  };
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

// Of runs of which none has a rate that is comparable with the base's it says nothing.
Row SpeedupRow(const Row& samples_per_second, size_t base, const Comparability& comparability) {
  Row row{.key = "speedup",
          .label = "speed-up",
          .unit = "×",
          .section = "time",
          .values = std::vector<Value>(samples_per_second.values.size())};
  const double* reference = std::get_if<double>(&samples_per_second.values[base].value);
  if (reference == nullptr || *reference <= 0) return row;
  for (size_t i = 0; i < row.values.size(); ++i) {
    const double* rate = std::get_if<double>(&samples_per_second.values[i].value);
    const bool is_other = i != base && comparability.AreComparable(samples_per_second, i, base);
    if (rate == nullptr || !is_other) continue;
    row.values[i].value = *rate / *reference;
    row.values[base].value = 1.0;
  }
  return row;
}

// Of runs that differ from the base in more than their gang it would say nothing of scaling.
Row ScalingRow(const std::vector<Run>& runs, const Row& speedup, size_t base) {
  Row row{.key = "scaling_efficiency",
          .label = "scaling efficiency",
          .unit = "%",
          .section = "time",
          .values = std::vector<Value>(runs.size())};
  const auto scales = [&](const Run& run) {
    return run.device_name == runs[base].device_name && DifferInGangAlone(run, runs[base]);
  };
  bool is_scaled = false;
  for (size_t i = 0; i < runs.size(); ++i) {
    const double* times = std::get_if<double>(&speedup.values[i].value);
    if (times == nullptr || !scales(runs[i])) continue;
    const double ratio =
        static_cast<double>(runs[i].job.devices) / static_cast<double>(runs[base].job.devices);
    row.values[i].value = 100 * *times / ratio;
    is_scaled = is_scaled || ratio != 1;
  }
  if (!is_scaled) row.values.assign(runs.size(), {});
  return row;
}

// "+2.1 % of the measured", where it was; "as measured" where that says +0.0 %.
std::string ErrorNote(double predicted, const Value& measured) {
  const double* number = std::get_if<double>(&measured.value);
  if (number == nullptr || *number <= 0) return "";
  const double percent = 100 * (predicted - *number) / *number;
  if (std::abs(percent) < 0.05) return "as measured";
  char text[48];
  std::snprintf(text, sizeof text, "%s%.1f %% of the measured", percent < 0 ? "−" : "+",
                std::abs(percent));
  return text;
}

Row PredictedPeakRow(const std::vector<Run>& runs, const Row& measured) {
  Row row{.key = "predicted_peak_bytes",
          .label = "predicted peak",
          .unit = "bytes",
          .section = "memory"};
  for (size_t i = 0; i < runs.size(); ++i) {
    Value& value = row.values.emplace_back();
    if (!runs[i].prediction) continue;
    const auto peak = static_cast<double>(runs[i].prediction->memory.peak_allocated);
    value = {.value = peak, .note = ErrorNote(peak, measured.values[i])};
  }
  return row;
}

// Where predictions came from differs: each says it.
void NoteSources(const std::vector<Run>& runs, Row* row) {
  std::set<std::string> sources;
  for (const Run& run : runs) sources.insert(SourceOfTime(run));
  sources.erase("");
  if (sources.size() < 2) return;
  for (size_t i = 0; i < runs.size(); ++i) {
    std::string& note = row->values[i].note;
    if (!row->values[i].empty())
      note += (note.empty() ? "from " : ", from ") + SourceOfTime(runs[i]);
  }
}

// Of the training loop, as `time` is.
Row PredictedTimeRow(const std::vector<Run>& runs, const Row& measured) {
  Row row{
      .key = "predicted_time_seconds", .label = "predicted time", .unit = "s", .section = "time"};
  for (size_t i = 0; i < runs.size(); ++i) {
    Value& value = row.values.emplace_back();
    if (!runs[i].prediction || !runs[i].prediction->time) continue;
    const double seconds = runs[i].prediction->time->training_seconds;
    const bool is_whole = runs[i].outcome == job::Outcome::kSucceeded && runs[i].attempts == 1 &&
                          job::CountsOwnSteps(runs[i].job, runs[i].inspection);
    value = {.value = seconds, .note = is_whole ? ErrorNote(seconds, measured.values[i]) : ""};
  }
  NoteSources(runs, &row);
  return row;
}

// Where runs made a different number of steps, their times say little without it.
void NoteSteps(const std::vector<Run>& runs, Row* time) {
  std::vector<int64_t> steps;
  for (const Run& run : runs) steps.push_back(job::StepsTrained(run.metrics));
  if (std::ranges::adjacent_find(steps, std::not_equal_to<>()) == steps.end()) return;
  for (size_t i = 0; i < runs.size(); ++i) {
    if (!time->values[i].empty()) time->values[i].note = base::Plural(steps[i], "step");
  }
}

// Rows that are made of the metric's and stand below it.
void AddDerivedRows(const std::vector<Run>& runs, size_t base, const Comparability& comparability,
                    job::Metric metric, std::vector<Row>* rows) {
  Row& measured = rows->back();
  if (metric == job::Metric::kTimeSeconds) {
    NoteSteps(runs, &measured);
    rows->push_back(PredictedTimeRow(runs, measured));
  } else if (metric == job::Metric::kSamplesPerSecond) {
    rows->push_back(SpeedupRow(measured, base, comparability));
    rows->push_back(ScalingRow(runs, rows->back(), base));
  } else if (metric == job::Metric::kMemoryPeakAllocated) {
    rows->push_back(PredictedPeakRow(runs, measured));
  }
}

}  // namespace

Row RowOf(const job::MetricInfo& metric) {
  const bool is_median = metric.reduction == job::Reduction::kMedian;
  return {.key = std::string(metric.name),
          .label = (is_median ? "median " : "") + std::string(metric.label),
          .unit = std::string(metric.unit),
          .section = std::string(job::Name(metric.section)),
          .values = {}};
}

std::string SourceOfTime(const Run& run) {
  if (!run.prediction || !run.prediction->time) return "";
  return run.prediction->time->earlier_runs > 0 ? "earlier runs" : "rates";
}

bool HasMeasurements(const Run& run) { return !job::IsOutOfMemory(run.outcome); }

std::vector<Row> MeasuredRows(const std::vector<Run>& runs, size_t base,
                              const Comparability& comparability) {
  std::vector<Row> rows = {OutcomeRow(runs)};
  for (const job::MetricInfo& metric : job::Metrics()) {
    if (metric.section == job::MetricSection::kNone) continue;
    rows.push_back(ToRow(metric, runs));
    AddDerivedRows(runs, base, comparability, metric.id, &rows);
  }
  return rows;
}

}  // namespace trainctl::compare
