#include "client/show/comparison.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "client/show/compare_cell.h"
#include "client/show/continuations.h"
#include "client/show/escaping.h"
#include "client/show/format.h"
#include "client/show/transposed_comparison.h"
#include "common/base/did_you_mean.h"
#include "common/base/one_line.h"
#include "common/rank/metric.h"
#include "common/wire/comparison_doubt.h"

namespace trainctl::client {
namespace {

constexpr int kLongestName = 24;
constexpr std::string_view kNotComparable = "Not comparable";

// One line of a spreadsheet a row: the values under the jobs' ids.
Json FlatRecord(const v1::CompareResponse& response, const v1::CompareRow& row) {
  Json record = {
      {"key", row.key()}, {"label", row.label()}, {"unit", row.unit()}, {"section", row.section()}};
  for (int i = 0; i < row.values_size(); ++i)
    record[response.jobs(i).id()] = ValueJson(row.values(i));
  return record;
}

// Above the section's first row: "loss"; "loss (not comparable)" where its numbers are doubtful;
// else nothing where that row is called so.
std::string HeadingAbove(const v1::CompareResponse& response, const v1::CompareRow& row) {
  const std::string& section = row.section();
  const std::string doubt = wire::DoubtOf(response, section);
  if (!doubt.empty()) return section + " (" + doubt + ")";
  return section == row.label() ? "" : section;
}

// Of the jobs at these places, side by side. longest_name 0: unlimited.
TextTable TableOf(const v1::CompareResponse& response, const std::vector<int>& places,
                  int longest_name) {
  std::vector<TextColumn> columns = {{""}};
  for (const int i : places)
    columns.push_back({Escaped(HeadingOf(response.jobs(i), longest_name))});
  TextTable table(std::move(columns));
  std::string section;
  for (const v1::CompareRow& row : response.rows()) {
    if (row.section() != section) table.AddHeading(HeadingAbove(response, row));
    section = row.section();
    std::vector<TextCell> cells = {base::OnOneLine(row.label())};
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

std::vector<int> BaseFirst(const v1::CompareResponse& response, int base) {
  std::vector<int> places = {base};
  for (int i = 0; i < response.jobs_size(); ++i) {
    if (i != base) places.push_back(i);
  }
  return places;
}

// As many jobs beside the base as the terminal is wide, then the next ones below, again beside the
// base.
std::string RenderBlocks(const v1::CompareResponse& response, const std::vector<int>& order,
                         const TableLayout& layout) {
  const TableLayout unbounded{.width = 0, .colour = layout.colour};
  const int longest_name = layout.width > 0 ? kLongestName : 0;
  std::string text;
  size_t next = 1;
  do {
    std::vector<int> places = {order.front()};
    while (next < order.size()) {
      places.push_back(order[next]);
      const bool too_wide =
          layout.width > 0 &&
          WidthOf(TableOf(response, places, longest_name).Render({})) > layout.width;
      if (too_wide && places.size() > 2) {
        places.pop_back();
        break;
      }
      ++next;
    }
    text += (text.empty() ? "" : "\n") + TableOf(response, places, longest_name).Render(unbounded);
  } while (next < order.size());
  return text;
}

bool FitsAcross(const v1::CompareResponse& response, const std::vector<int>& places,
                const TableLayout& layout) {
  return layout.width <= 0 ||
         WidthOf(TableOf(response, places, kLongestName).Render({})) <= layout.width;
}

bool IsCalled(const v1::CompareRow& row, const std::string& key) {
  return row.key() == key || row.section() == key || row.key().starts_with(key + ".");
}

// A row or section that is left out while no run has a value.
bool IsOfAnyComparison(std::string_view key) {
  return std::ranges::count(KeysOfAnyComparison(), key) > 0;
}

// What --only may name here: sections first, then rows.
std::vector<std::string_view> NamesOfRows(const v1::CompareResponse& response) {
  std::vector<std::string_view> names;
  const auto add = [&names](const std::string& name) {
    if (std::ranges::count(names, name) == 0) names.push_back(name);
  };
  for (const v1::CompareRow& row : response.rows()) add(row.section());
  for (const v1::CompareRow& row : response.rows()) add(row.key());
  return names;
}

// Those of sections that have rows, and those of all.
void KeepWarnings(v1::CompareResponse* response) {
  const v1::CompareResponse whole = *response;
  response->clear_warnings();
  response->clear_warning_sections();
  for (int i = 0; i < whole.warnings_size(); ++i) {
    const std::vector<std::string> sections = record::SectionsOf(whole, i);
    const auto is_doubtful = [&sections](const v1::CompareRow& row) {
      return std::ranges::count(sections, row.section()) > 0;
    };
    if (!sections.empty() && std::ranges::none_of(whole.rows(), is_doubtful)) continue;
    response->add_warnings(whole.warnings(i));
    v1::SectionNames* names = response->add_warning_sections();
    for (const std::string& section : sections) names->add_sections(section);
  }
}

std::string DefinitionLines(const v1::CompareResponse& response) {
  return Join(DefinitionsOf(response), "\n") + "\n";
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

std::vector<std::string_view> KeysOfAnyComparison() {
  std::vector<std::string_view> keys = {"changed", "texts"};
  const size_t before_sections = keys.size();
  for (const job::MetricInfo& metric : job::Metrics()) {
    if (metric.section == job::MetricSection::kNone) continue;
    const std::string_view section = job::Name(metric.section);
    if (std::ranges::count(keys, section) == 0)
      keys.insert(keys.begin() + before_sections, section);
    keys.push_back(metric.name);
  }
  return keys;
}

base::Result<std::vector<std::string>> KeepRows(const std::vector<std::string>& keys,
                                                v1::CompareResponse* response) {
  const std::vector<std::string_view> known = NamesOfRows(*response);
  google::protobuf::RepeatedPtrField<v1::CompareRow> kept;
  for (const v1::CompareRow& row : response->rows()) {
    const auto names = [&row](const std::string& key) { return IsCalled(row, key); };
    if (std::ranges::any_of(keys, names)) *kept.Add() = row;
  }
  std::vector<std::string> missing;
  for (const std::string& key : keys) {
    const auto is_called = [&key](const v1::CompareRow& row) { return IsCalled(row, key); };
    if (std::ranges::any_of(kept, is_called)) continue;
    if (IsOfAnyComparison(key)) {
      missing.push_back(key);
      continue;
    }
    const std::string hint = base::DidYouMean(key, known);
    return base::Error{base::Code::kInvalid, base::WithHint("no row '" + key + "'", hint,
                                                            "there are " + Join(known, ", "))};
  }
  *response->mutable_rows() = std::move(kept);
  KeepWarnings(response);
  return missing;
}

std::vector<Json> FlatRecords(const v1::CompareResponse& response) {
  std::vector<Json> records;
  for (const v1::CompareRow& row : response.rows()) records.push_back(FlatRecord(response, row));
  return records;
}

std::string ComparisonText(const v1::CompareResponse& response, const ComparisonView& view,
                           const TableLayout& layout) {
  const std::vector<int> places = BaseFirst(response, view.base);
  const v1::CompareResponse numbers = WithoutTexts(response);
  const bool transposed = view.transposed.value_or(!FitsAcross(numbers, places, layout));
  std::string text = (transposed ? TransposedText(numbers, places, layout)
                                 : RenderBlocks(numbers, places, layout)) +
                     "\n" + ComparedTexts(response, places, layout);
  if (response.same_size() > 0)
    text += WrapLines("Same: " + Join(response.same(), ", ") + ".", layout.width);
  for (const std::string& warning : WarningTexts(response)) {
    text += Styled(kNotComparable, Style::kWarning, layout.colour) +
            WrapLines(warning, layout.width).substr(kNotComparable.size());
  }
  return text +
         Styled(WrapLines(DefinitionLines(response), layout.width), Style::kFaint, layout.colour);
}

std::string ComparisonMarkdown(const v1::CompareResponse& response, const ComparisonView& view) {
  const std::vector<int> places = BaseFirst(response, view.base);
  std::string text = (view.transposed.value_or(false) ? TransposedTable(response, places)
                                                      : TableOf(response, places, 0))
                         .Markdown() +
                     "\n";
  if (response.same_size() > 0) text += "Same: " + Join(response.same(), ", ") + ".\n\n";
  for (const std::string& warning : WarningTexts(response))
    text +=
        "**" + std::string(kNotComparable) + "**" + warning.substr(kNotComparable.size()) + "\n\n";
  const std::string definitions = DefinitionLines(response);
  return text + (definitions.starts_with('*') ? "\\" : "") + definitions;
}

std::vector<std::string> WarningTexts(const v1::CompareResponse& response) {
  std::vector<std::string> texts;
  for (int i = 0; i < response.warnings_size(); ++i) {
    const std::string sections = Join(record::SectionsOf(response, i), ", ");
    texts.push_back(std::string(kNotComparable) + (sections.empty() ? "" : " (" + sections + ")") +
                    ": " + response.warnings(i) + ".");
  }
  return texts;
}

std::vector<std::string> NotesOf(const v1::CompareResponse& response) {
  std::vector<std::string> notes = WarningTexts(response);
  std::ranges::move(DefinitionsOf(response), std::back_inserter(notes));
  return notes;
}

TextTable ComparisonTable(const v1::CompareResponse& response) {
  std::vector<int> places(static_cast<size_t>(response.jobs_size()));
  std::iota(places.begin(), places.end(), 0);
  return TableOf(response, places, 0);
}

}  // namespace trainctl::client
