#include "client/show/text_table.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "client/show/escaping.h"
#include "client/show/format.h"
#include "client/show/markup.h"
#include "common/base/check.h"

namespace trainctl::client {
namespace {

constexpr int kGap = 2;
constexpr int kNarrowestLastColumn = 24;
constexpr int kNarrowestCutColumn = 12;
constexpr size_t kIndentBelow = 4;

const char* ColourOf(Style style) {
  switch (style) {
    case Style::kPlain: return "";
    case Style::kStrong: return "\xff[1m";
    case Style::kGood: return "\xff[32m";
    case Style::kWarning: return "\xff[33m";
    case Style::kBad: return "\xff[31m";
    case Style::kFaint: return "\xff[2m";
  }
  return "";
}

// "r good": a column of numbers, and a style that a page may colour.
std::string ClassesOf(bool right, Style style) {
  const char* name = style == Style::kGood      ? "good"
                     : style == Style::kWarning ? "warning"
                     : style == Style::kBad     ? "bad"
                                                : "";
  return std::string(right ? "r" : "") + (right && *name != '\0' ? " " : "") + name;
}

std::string EscapedForMarkdown(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  return MarkdownEscaped(text);
}

std::string MarkdownOf(const TextCell& cell) {
  const std::string words = EscapedForMarkdown(cell.text);
  return cell.link.empty() ? words : "[" + words + "](" + cell.link + ")";
}

std::string Padded(const TextCell& cell, int width, bool right, bool colour) {
  const std::string text = Truncate(cell.text, width);
  const std::string padding(static_cast<size_t>(width - DisplayWidth(text)), ' ');
  const std::string styled = Styled(text, cell.style, colour);
  return right ? padding + styled : styled + padding;
}

void TrimRight(std::string* text) { text->erase(text->find_last_not_of(' ') + 1); }

}  // namespace

std::string Styled(std::string_view text, Style style, bool colour) {
  if (!colour || style == Style::kPlain || text.empty()) return std::string(text);
  return ColourOf(style) + std::string(text) + "\xff[0m";
}

void TextTable::AddRow(std::vector<TextCell> cells) {
  CHECK(cells.size() <= columns_.size())
      << cells.size() << " cells in " << columns_.size() << " columns";
  cells.resize(columns_.size());
  for (TextCell& cell : cells) cell.text = Escaped(cell.text);
  rows_.push_back({.cells = std::move(cells)});
}

void TextTable::AddHeading(std::string text) {
  rows_.push_back({.heading = true, .cells = {TextCell(std::move(text), Style::kStrong)}});
}

std::vector<int> TextTable::Widths() const {
  std::vector<int> widths;
  for (const TextColumn& column : columns_) widths.push_back(DisplayWidth(column.header));
  for (const Row& row : rows_) {
    if (row.heading) continue;
    for (size_t i = 0; i < widths.size(); ++i)
      widths[i] = std::max(widths[i], DisplayWidth(row.cells[i].text));
  }
  return widths;
}

int TextTable::WidthOf(const std::vector<int>& widths) {
  return std::min(widths.back(), kNarrowestLastColumn) +
         std::accumulate(widths.begin(), widths.end() - 1,
                         kGap * static_cast<int>(widths.size() - 1));
}

std::vector<bool> TextTable::Standing(int width) const {
  std::vector<bool> stands(columns_.size(), true);
  const std::vector<int> widths = Widths();
  for (;;) {
    std::vector<int> left;
    int next = 0;
    for (size_t i = 0; i < columns_.size(); ++i) {
      if (!stands[i]) continue;
      left.push_back(widths[i]);
      next = std::max(next, columns_[i].goes);
    }
    if (WidthOf(left) <= width || next == 0) return stands;
    for (size_t i = 0; i < columns_.size(); ++i) stands[i] = stands[i] && columns_[i].goes != next;
  }
}

TextTable TextTable::Narrowed(const std::vector<bool>& stands) const {
  std::vector<TextColumn> columns;
  for (size_t i = 0; i < columns_.size(); ++i) {
    if (stands[i]) columns.push_back(columns_[i]);
  }
  TextTable narrowed(std::move(columns));
  for (const Row& row : rows_) {
    Row& its = narrowed.rows_.emplace_back(Row{.heading = row.heading});
    for (size_t i = 0; i < row.cells.size(); ++i) {
      if (row.heading || stands[i]) its.cells.push_back(row.cells[i]);
    }
  }
  return narrowed;
}

// Takes from the widest first, until the row fits. Of the last column as much counts as must stand
// beside the others.
void TextTable::Cut(int width, std::vector<int>* widths) const {
  for (int total = WidthOf(*widths); total > width; --total) {
    int* widest = nullptr;
    for (size_t i = 0; i + 1 < widths->size(); ++i) {
      int& its = (*widths)[i];
      const int least = std::max(kNarrowestCutColumn, DisplayWidth(columns_[i].header));
      if (columns_[i].cut && its > least && (widest == nullptr || its > *widest)) widest = &its;
    }
    if (widest == nullptr) return;
    --*widest;
  }
}

// The lines of the last cell: the first stands in the row, the others below each other; or all of
// them below the row.
std::string TextTable::RenderRow(const Row& row, const Columns& columns, bool colour) const {
  const TextCell& last = row.cells.back();
  std::string text, line;
  const auto end_line = [&text, &line] {
    TrimRight(&line);
    if (!line.empty() || text.empty()) text += line + "\n";
    line = std::string(kIndentBelow, ' ');
  };
  for (size_t i = 0; i + 1 < columns.widths.size(); ++i) {
    if (columns.breaks[i]) end_line();
    line +=
        Padded(row.cells[i], columns.widths[i], columns_[i].right, colour) + std::string(kGap, ' ');
  }
  if (DisplayWidth(last.text) <= columns.widths.back()) {
    line += Padded(last, columns.widths.back(), columns_.back().right, colour);
    end_line();
    return text;
  }
  std::vector<std::string> lines = WrapWords(last.text, columns.wrap_width);
  if (!columns.last_below) {
    line += Styled(lines.front(), last.style, colour);
    lines.erase(lines.begin());
  }
  end_line();
  for (const std::string& wrapped : lines)
    text += std::string(columns.indent, ' ') + Styled(wrapped, last.style, colour) + "\n";
  return text;
}

TextTable::Columns TextTable::LayOut(int width) const {
  Columns columns{.widths = Widths(), .breaks = std::vector<bool>(columns_.size())};
  if (width > 0) Cut(width, &columns.widths);
  const int last = columns.widths.back();
  int before = 0;  // the last column, in its line
  for (size_t i = 0; i + 1 < columns.widths.size(); ++i) {
    columns.breaks[i] = width > 0 && before > 0 && before + columns.widths[i] > width;
    if (columns.breaks[i]) before = static_cast<int>(kIndentBelow);
    before += columns.widths[i] + kGap;
  }
  if (width <= 0 || before + last <= width) return columns;
  columns.last_below = width - before < std::min(last, kNarrowestLastColumn);
  columns.indent = columns.last_below ? kIndentBelow : static_cast<size_t>(before);
  columns.wrap_width = std::max(kNarrowestLastColumn, width - static_cast<int>(columns.indent));
  columns.widths.back() =
      columns.last_below ? DisplayWidth(columns_.back().header) : columns.wrap_width;
  return columns;
}

std::string TextTable::Render(const TableLayout& layout) const {
  if (layout.width <= 0) return RenderAll(layout);
  const std::vector<bool> stands = Standing(layout.width);
  std::set<std::string> seen;
  for (size_t i = 0; i < columns_.size(); ++i) {
    if (stands[i]) seen.insert(columns_[i].header);
  }
  std::string gone;
  for (const TextColumn& column : columns_) {
    if (seen.insert(column.header).second) gone += (gone.empty() ? "" : ", ") + column.header;
  }
  if (gone.empty()) return RenderAll(layout);
  const std::string said = "(too narrow for " + gone + ")";
  return Narrowed(stands).RenderAll(layout) + Styled(said, Style::kFaint, layout.colour) + "\n";
}

std::string TextTable::RenderAll(const TableLayout& layout) const {
  const Columns columns = LayOut(layout.width);
  Row header;
  for (const TextColumn& column : columns_) header.cells.emplace_back(column.header, Style::kFaint);
  std::string text = RenderRow(header, columns, layout.colour);
  for (const Row& row : rows_) {
    if (!row.heading) {
      text += RenderRow(row, columns, layout.colour);
      continue;
    }
    const std::string heading = Styled(row.cells[0].text, row.cells[0].style, layout.colour);
    text += heading.empty() ? "\n" : "\n" + heading + "\n";
  }
  return text;
}

std::string TextTable::Html() const {
  const auto cell = [this](const char* tag, size_t column, const TextCell& its) {
    const std::string name = ClassesOf(columns_[column].right, its.style);
    return "<" + std::string(tag) + (name.empty() ? "" : " class=\"" + name + "\"") + ">" +
           MarkupEscaped(its.text) + "</" + tag + ">";
  };
  std::string text = "<table>\n<tr>";
  for (size_t i = 0; i < columns_.size(); ++i) text += cell("th", i, columns_[i].header);
  text += "</tr>\n";
  for (const Row& row : rows_) {
    if (row.heading) {
      if (row.cells[0].text.empty()) continue;
      text += "<tr class=\"h\"><th colspan=\"" + std::to_string(columns_.size()) + "\">" +
              MarkupEscaped(row.cells[0].text) + "</th></tr>\n";
      continue;
    }
    text += "<tr>";
    for (size_t i = 0; i < columns_.size(); ++i) text += cell("td", i, row.cells[i]);
    text += "</tr>\n";
  }
  return text + "</table>\n";
}

std::string TextTable::Markdown() const {
  std::string text = "|", rule = "|";
  for (const TextColumn& column : columns_) {
    text += " " + EscapedForMarkdown(column.header) + " |";
    rule += column.right ? "---:|" : "---|";
  }
  text += "\n" + rule + "\n";
  for (const Row& row : rows_) {
    if (row.heading && row.cells[0].text.empty()) continue;
    text += "|";
    for (size_t i = 0; i < columns_.size(); ++i) {
      const std::string words = i < row.cells.size() ? MarkdownOf(row.cells[i]) : "";
      text += row.heading && i == 0 ? " **" + words + "** |" : " " + words + " |";
    }
    text += "\n";
  }
  return text;
}

}  // namespace trainctl::client
