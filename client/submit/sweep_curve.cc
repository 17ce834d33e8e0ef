#include "client/submit/sweep_curve.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "client/show/format.h"
#include "common/rank/metric.h"

namespace trainctl::client {
namespace {

constexpr int kBarWidth = 10;

// What is measured of a point.
struct Measure {
  job::Metric metric;
  std::optional<double> SweepResult::* member;
  std::string_view key = {};  // in records; empty: as the metric

  std::string Key() const { return std::string(key.empty() ? job::Name(metric) : key); }
};
constexpr Measure kMeasures[] = {
    {job::Metric::kStepSeconds, &SweepResult::step_seconds},
    {job::Metric::kSamplesPerSecond, &SweepResult::samples_per_second},
    {job::Metric::kTokensPerSecond, &SweepResult::tokens_per_second},
    {job::Metric::kLoss, &SweepResult::loss},
    {job::Metric::kValLoss, &SweepResult::val_loss},
    {job::Metric::kMemoryPeakAllocated, &SweepResult::peak_bytes, "peak_allocated_bytes"},
};

Json Known(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

std::string Text(const std::optional<double>& value, std::string_view unit) {
  return value ? FormatWithUnit(*value, unit) : "–";
}

// As long as the value's share of the largest, in eighths of a column.
std::string Bar(const std::optional<double>& value, double largest) {
  static constexpr const char* kEighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  if (!value || largest <= 0) return "";
  const long eighths = std::lround(8 * kBarWidth * *value / largest);
  std::string bar;
  for (long i = 0; i < eighths / 8; ++i) bar += "█";
  return bar + kEighths[eighths % 8];
}

double Largest(const std::vector<SweepResult>& results,
               std::optional<double> SweepResult::* member) {
  double largest = 0;
  for (const SweepResult& result : results)
    largest = std::max(largest, (result.*member).value_or(0));
  return largest;
}

Style StyleOf(const std::string& outcome) {
  if (job::ParseOutcome(outcome) == job::Outcome::kSucceeded) return Style::kGood;
  return outcome == "skipped" ? Style::kFaint : Style::kBad;
}

Json Record(const Sweep& sweep, const SweepResult& result) {
  Json settings = Json::object();
  for (size_t i = 0; i < sweep.axes.size(); ++i)
    settings[sweep.axes[i].key] = result.point->values[i];
  Json record = {
      {"id", result.id.empty() ? Json(nullptr) : Json(result.id)},
      {"name", result.point->job.name},
      {"settings", settings},
      {"outcome", result.outcome.empty() ? Json(nullptr) : Json(result.outcome)},
  };
  for (const Measure& measure : kMeasures) record[measure.Key()] = Known(result.*measure.member);
  record["predicted_step_seconds"] = Known(result.predicted_step_seconds);
  record["predicted_peak_bytes"] = Known(result.predicted_peak_bytes);
  return record;
}

}  // namespace

void TakeMeasurements(const v1::CompareResponse& comparison, std::vector<SweepResult>* results) {
  for (const v1::CompareRow& row : comparison.rows()) {
    for (const Measure& measure : kMeasures) {
      if (row.key() != job::Name(measure.metric)) continue;
      for (int i = 0; i < comparison.jobs_size(); ++i) {
        const auto of_job = [&](const SweepResult& result) {
          return result.id == comparison.jobs(i).id();
        };
        const auto result = std::find_if(results->begin(), results->end(), of_job);
        if (result != results->end() && row.values(i).has_number())
          (*result).*measure.member = row.values(i).number();
      }
    }
  }
}

Listing CurveOf(const Sweep& sweep, const std::vector<SweepResult>& results) {
  std::vector<TextColumn> columns = {{"JOB"}};
  for (const SweepAxis& axis : sweep.axes) columns.push_back({axis.key, true});
  const TextColumn measured[] = {{"OUTCOME"},         {"S/STEP", true},   {""},
                                 {"PREDICTED", true}, {"TOKENS/S", true}, {"LOSS", true}};
  columns.insert(columns.end(), std::begin(measured), std::end(measured));
  const bool validates = std::ranges::any_of(
      results, [](const SweepResult& result) { return result.val_loss.has_value(); });
  if (validates) columns.push_back({"VAL LOSS", true});
  const TextColumn memory[] = {{"PEAK", true}, {""}, {"PREDICTED", true}};
  columns.insert(columns.end(), std::begin(memory), std::end(memory));
  Listing listing{.collection = "points", .table = TextTable(std::move(columns))};
  listing.members["sweep"] = sweep.name;
  const double slowest = Largest(results, &SweepResult::step_seconds),
               highest = Largest(results, &SweepResult::peak_bytes);
  for (const SweepResult& result : results) {
    std::vector<TextCell> cells = {result.id.empty() ? "–" : result.id};
    for (const std::string& value : result.point->values) cells.emplace_back(value);
    cells.emplace_back(result.outcome, StyleOf(result.outcome));
    cells.emplace_back(Text(result.step_seconds, "s"));
    cells.emplace_back(Bar(result.step_seconds, slowest));
    cells.emplace_back(Text(result.predicted_step_seconds, "s"));
    cells.emplace_back(Text(result.tokens_per_second, ""));
    cells.emplace_back(Text(result.loss, ""));
    if (validates) cells.emplace_back(Text(result.val_loss, ""));
    cells.emplace_back(Text(result.peak_bytes, "bytes"));
    cells.emplace_back(Bar(result.peak_bytes, highest));
    cells.emplace_back(Text(result.predicted_peak_bytes, "bytes"));
    listing.table.AddRow(std::move(cells));
    listing.records.push_back(Record(sweep, result));
  }
  return listing;
}

}  // namespace trainctl::client
