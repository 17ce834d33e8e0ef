#include "client/show/foresight.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "client/show/auto_micro_batch.h"
#include "client/show/format.h"

namespace trainctl::client {
namespace {

using job::MemoryByKind;

struct Row {
  std::string key;  // the metric
  std::string label;
  std::string unit;
  double predicted = 0;
  double measured = 0;

  double error() const { return (predicted - measured) / measured; }
};

// Of any rank and phase; 0: never measured.
double Largest(const v1::JobDetail& detail, const std::string& metric) {
  double largest = 0;
  for (const v1::MetricSummary& summary : detail.summaries()) {
    if (summary.name() == metric && summary.count() > 0) largest = std::max(largest, summary.max());
  }
  return largest;
}

double LargestPhase(const job::MemoryEstimate& memory, int64_t MemoryByKind::* kind) {
  int64_t largest = 0;
  for (const MemoryByKind& phase : memory.phases) largest = std::max(largest, phase.*kind);
  return static_cast<double>(largest);
}

// Time of a run that was not ended early.
std::optional<double> MeasuredTime(const v1::JobDetail& detail) {
  if (detail.view().outcome() != "SUCCEEDED" || CountedAttempts(detail) > 1) return std::nullopt;
  const double seconds = Largest(detail, "time_seconds");
  return seconds > 0 ? std::optional(seconds) : std::nullopt;
}

std::vector<Row> Rows(const job::Prediction& prediction, const v1::JobDetail& detail) {
  struct Kind {
    const char* key;
    const char* label;
    int64_t MemoryByKind::* bytes;
  };
  constexpr Kind kKinds[] = {
      {"memory_peak_allocated_bytes", "peak allocated", &MemoryByKind::peak_allocated},
      {"memory_params_bytes", "parameters", &MemoryByKind::params},
      {"memory_grads_bytes", "gradients", &MemoryByKind::grads},
      {"memory_optimizer_bytes", "optimizer", &MemoryByKind::optimizer},
      {"memory_optimizer_cpu_bytes", "optimizer (host)", &MemoryByKind::optimizer_cpu},
      {"memory_other_bytes", "other", &MemoryByKind::other}};
  std::vector<Row> rows;
  for (const Kind& kind : kKinds) {
    rows.push_back({kind.key, kind.label, "bytes", LargestPhase(prediction.memory, kind.bytes),
                    Largest(detail, kind.key)});
  }
  if (prediction.time)
    rows.push_back({"time_seconds", "time", "s", prediction.time->training_seconds,
                    MeasuredTime(detail).value_or(0)});
  std::erase_if(rows, [](const Row& row) { return row.predicted <= 0 || row.measured <= 0; });
  return rows;
}

}  // namespace

std::string ForesightText(const job::Prediction& prediction, const v1::JobDetail& detail,
                          const TableLayout& layout) {
  TextTable table(
      {{"PREDICTION AND MEASUREMENT"}, {"PREDICTED", true}, {"MEASURED", true}, {"ERROR", true}});
  for (const Row& row : Rows(prediction, detail)) {
    table.AddRow({row.label, FormatWithUnit(row.predicted, row.unit),
                  FormatWithUnit(row.measured, row.unit), FormatDelta(row.error())});
  }
  return table.empty() ? "" : table.Render(layout);
}

Json ForesightJson(const job::Prediction& prediction, const v1::JobDetail& detail) {
  Json rows = Json::array();
  for (const Row& row : Rows(prediction, detail)) {
    rows.push_back({{"key", row.key},
                    {"predicted", row.predicted},
                    {"measured", row.measured},
                    {"error", row.error()}});
  }
  return rows;
}

}  // namespace trainctl::client
