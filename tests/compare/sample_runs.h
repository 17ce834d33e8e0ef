// Runs to compare, what was measured of them, and the comparison as text. All of it is for tests.
#pragma once

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "server/compare/compare.h"

namespace trainctl::compare {

using Column = Run;  // the name Run is taken inside a GoogleTest body
inline constexpr double kGiB = 1024.0 * 1024 * 1024;

inline Run SomeRun(const std::string& id, const std::string& name) {
  Run run{.id = id,
          .name = name,
          .state = job::JobState::kFinished,
          .outcome = job::Outcome::kSucceeded};
  run.job.name = name;
  run.job.model.path = "/models/tiny";
  run.job.data.path = "/data/rows.json";
  run.job.train.global_batch_size = 8;
  run.job.train.micro_batch_size = 4;
  run.inspection.emplace().data_digest = "d1";
  run.device_name = "NVIDIA H200";
  return run;
}

using job::MetricSummary;

inline MetricSummary Summary(const std::string& name, double value) {
  return {.name = name, .latest = value, .min = value, .max = value, .total = value, .count = 1};
}

// Of a run of so many steps that took so long, with all it counted.
inline std::vector<MetricSummary> Loop(int64_t steps, double seconds, double samples,
                                       double tokens) {
  std::vector<MetricSummary> summaries = {Summary("step_seconds", seconds),
                                          Summary("samples", samples), Summary("tokens", tokens)};
  for (MetricSummary& summary : summaries) summary.count = steps;
  return summaries;
}

inline std::vector<MetricSummary> With(std::vector<MetricSummary> summaries,
                                       const std::vector<MetricSummary>& more) {
  summaries.insert(summaries.end(), more.begin(), more.end());
  return summaries;
}

inline MetricSummary OfRank(MetricSummary summary, int64_t rank,
                            std::optional<job::Phase> phase = std::nullopt) {
  summary.rank = rank;
  summary.phase = phase;
  return summary;
}

// "key [unit]: value Δdelta best (note) | …", one row a line: the whole table as people would check
// it by eye.
inline std::string Print(const Row& row) {
  std::string text =
      row.section + "/" + row.key + (row.unit.empty() ? "" : " [" + row.unit + "]") + ":";
  for (size_t i = 0; i < row.values.size(); ++i) {
    const Value& value = row.values[i];
    char number[64] = "-";
    if (const double* found = std::get_if<double>(&value.value))
      std::snprintf(number, sizeof number, "%g", *found);
    const std::string* words = std::get_if<std::string>(&value.value);
    text += (i == 0 ? " " : " | ") + (words != nullptr ? *words : std::string(number));
    if (value.delta) {
      std::snprintf(number, sizeof number, " Δ%.3f", *value.delta);
      text += number;
    }
    if (value.best) text += " best";
    if (!value.note.empty()) text += " (" + value.note + ")";
  }
  return text + "\n";
}

inline std::vector<std::string> WarningsOf(const Table& table) {
  std::vector<std::string> texts;
  for (const Warning& warning : table.warnings) texts.push_back(warning.text);
  return texts;
}

inline std::string Print(const Table& table) {
  std::string text;
  for (const Row& row : table.rows) text += Print(row);
  for (const std::string& same : table.same) text += "same: " + same + "\n";
  for (const Warning& warning : table.warnings) text += "warning: " + warning.text + "\n";
  return text;
}

inline const Row* FindRow(const Table& table, const std::string& key) {
  for (const Row& row : table.rows) {
    if (row.key == key) return &row;
  }
  return nullptr;
}

inline std::string PrintRow(const Table& table, const std::string& key) {
  const Row* row = FindRow(table, key);
  return row == nullptr ? "no row " + key : Print(*row);
}

}  // namespace trainctl::compare
