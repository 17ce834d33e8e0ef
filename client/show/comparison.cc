#include "client/show/comparison.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "client/show/format.h"

namespace trainctl::client {
namespace {

constexpr std::string_view kDefinitions =
    "* best of the runs that succeeded; percentages are against the base, the first column of "
    "values.\n"
    "time: the training loop from the first step to the end of the last, without load, evaluation "
    "and checkpoints.\n"
    "tokens/s counts positions up to the longest row of each micro batch, trained tokens/s only "
    "those that count in the loss.\n"
    "samples/s and tokens/s: all of the run over its time. seconds per step: the median, without "
    "the first step.\n"
    "speed-up: samples/s over the base's; scaling efficiency: that over added devices, of runs "
    "that differ in devices and strategy alone.\n"
    "memory: the worst rank's; by kind at the phase where it was largest.\n";

// Whole numbers as such: bytes and batch sizes are counts.
Json NumberJson(double number) {
  const bool is_whole = number == std::trunc(number) && std::abs(number) < 1e15;
  return is_whole ? Json(static_cast<int64_t>(number)) : Json(number);
}

Json ValueJson(const v1::CompareValue& value) {
  if (value.has_number()) return NumberJson(value.number());
  if (value.has_text()) return value.text();
  return nullptr;
}

Json RowRecord(const v1::CompareRow& row) {
  Json values = Json::array(), deltas = Json::array(), best = Json::array(), notes = Json::array();
  for (const v1::CompareValue& value : row.values()) {
    values.push_back(ValueJson(value));
    deltas.push_back(value.has_delta() ? Json(value.delta()) : Json(nullptr));
    best.push_back(value.best());
    notes.push_back(value.note());
  }
  return {
      {"key", row.key()}, {"label", row.label()}, {"unit", row.unit()}, {"section", row.section()},
      {"values", values}, {"deltas", deltas},     {"best", best},       {"notes", notes}};
}

// One line of a spreadsheet a row: the values under the jobs' ids.
Json FlatRecord(const v1::CompareResponse& response, const v1::CompareRow& row) {
  Json record = {
      {"key", row.key()}, {"label", row.label()}, {"unit", row.unit()}, {"section", row.section()}};
  for (int i = 0; i < row.values_size(); ++i)
    record[response.jobs(i).id()] = ValueJson(row.values(i));
  return record;
}

std::string ValueText(const v1::CompareRow& row, const v1::CompareValue& value) {
  if (value.has_text()) return value.text();
  const bool label_tells_unit = row.unit().ends_with("/s");  // "tokens per second"
  if (value.has_number()) return FormatWithUnit(value.number(), label_tells_unit ? "" : row.unit());
  return row.section() == "changed" ? "none" : "–";
}

TextCell ValueCell(const v1::CompareRow& row, const v1::CompareValue& value) {
  std::string text = ValueText(row, value);
  if (value.has_delta()) text += "  " + FormatDelta(value.delta());
  if (value.best()) text += " *";
  if (!value.note().empty()) text += " (" + value.note() + ")";
  return {std::move(text), value.best() ? Style::kGood : Style::kPlain};
}

// Of the jobs at these places, side by side.
TextTable TableOf(const v1::CompareResponse& response, const std::vector<int>& places) {
  std::vector<TextColumn> columns = {{""}};
  for (const int i : places)
    columns.push_back({response.jobs(i).name() + " (" + response.jobs(i).id() + ")"});
  TextTable table(std::move(columns));
  std::string section;
  for (const v1::CompareRow& row : response.rows()) {
    if (row.section() != section)
      table.AddHeading(row.section() == row.label() ? "" : row.section());
    section = row.section();
    std::vector<TextCell> cells = {row.label()};
    for (const int i : places) cells.push_back(ValueCell(row, row.values(i)));
    table.AddRow(std::move(cells));
  }
  return table;
}

int WidthOf(const std::string& text) {
  int width = 0;
  for (const std::string& line : Split(text, '\n')) width = std::max(width, DisplayWidth(line));
  return width;
}

// As many jobs beside the base as the terminal is wide, then the next ones below, again beside the
// base.
std::string RenderBlocks(const v1::CompareResponse& response, int base, const TableLayout& layout) {
  std::vector<int> rest;
  for (int i = 0; i < response.jobs_size(); ++i) {
    if (i != base) rest.push_back(i);
  }
  const TableLayout unbounded{.width = 0, .colour = layout.colour};
  std::string text;
  size_t next = 0;
  do {
    std::vector<int> places = {base};
    while (next < rest.size()) {
      places.push_back(rest[next]);
      const bool too_wide =
          layout.width > 0 && WidthOf(TableOf(response, places).Render({})) > layout.width;
      if (too_wide && places.size() > 2) {
        places.pop_back();
        break;
      }
      ++next;
    }
    text += (text.empty() ? "" : "\n") + TableOf(response, places).Render(unbounded);
  } while (next < rest.size());
  return text;
}

std::vector<std::string> Strings(const auto& repeated) {
  return {repeated.begin(), repeated.end()};
}

}  // namespace

base::Status CheckWhole(const v1::CompareResponse& response) {
  const bool is_whole = std::all_of(
      response.rows().begin(), response.rows().end(),
      [&](const v1::CompareRow& row) { return row.values_size() == response.jobs_size(); });
  if (is_whole && response.jobs_size() > 0) return base::Ok{};
  return base::Error{base::Code::kInternal,
                     "the coordinator's comparison has rows of another width than its jobs"};
}

Json ComparisonDocument(const v1::CompareResponse& response) {
  Json jobs = Json::array();
  for (const v1::ComparedJob& job : response.jobs()) {
    const Json outcome = job.outcome().empty() ? Json(nullptr) : Json(job.outcome());
    jobs.push_back(
        {{"id", job.id()}, {"name", job.name()}, {"state", job.state()}, {"outcome", outcome}});
  }
  return {{"jobs", jobs},
          {"rows", RowRecords(response)},
          {"same", Strings(response.same())},
          {"warnings", Strings(response.warnings())}};
}

std::vector<Json> RowRecords(const v1::CompareResponse& response) {
  std::vector<Json> records;
  for (const v1::CompareRow& row : response.rows()) records.push_back(RowRecord(row));
  return records;
}

std::vector<Json> FlatRecords(const v1::CompareResponse& response) {
  std::vector<Json> records;
  for (const v1::CompareRow& row : response.rows()) records.push_back(FlatRecord(response, row));
  return records;
}

std::string ComparisonText(const v1::CompareResponse& response, int base,
                           const TableLayout& layout) {
  std::string text = RenderBlocks(response, base, layout) + "\n";
  if (response.same_size() > 0) text += "Same: " + Join(response.same(), ", ") + ".\n";
  for (const std::string& warning : response.warnings()) {
    text += Styled("Not comparable:", Style::kWarning, layout.colour) + " " + warning + ".\n";
  }
  return text + Styled(kDefinitions, Style::kFaint, layout.colour);
}

std::string ComparisonMarkdown(const v1::CompareResponse& response, int base) {
  std::vector<int> places = {base};
  for (int i = 0; i < response.jobs_size(); ++i) {
    if (i != base) places.push_back(i);
  }
  std::string text = TableOf(response, places).Markdown() + "\n";
  if (response.same_size() > 0) text += "Same: " + Join(response.same(), ", ") + ".\n\n";
  for (const std::string& warning : response.warnings())
    text += "**Not comparable:** " + warning + ".\n\n";
  return text + "\\" + std::string(kDefinitions);
}

std::string ComparisonTable(const v1::CompareResponse& response) {
  std::vector<int> places(static_cast<size_t>(response.jobs_size()));
  std::iota(places.begin(), places.end(), 0);
  return TableOf(response, places).Markdown();
}

}  // namespace trainctl::client
