#include "client/text_table.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "client/format.h"
#include "common/base/check.h"

namespace trainctl::client {
namespace {

constexpr int kGap = 2;
constexpr int kNarrowestLastColumn = 16;

const char* ColourOf(Style style) {
  switch (style) {
    case Style::kPlain: return "";
    case Style::kStrong: return "\x1b[1m";
    case Style::kGood: return "\x1b[32m";
    case Style::kWarning: return "\x1b[33m";
    case Style::kBad: return "\x1b[31m";
    case Style::kFaint: return "\x1b[2m";
  }
  return "";
}

// Broken at spaces into lines of at most `width`; a longer word stands alone.
std::vector<std::string> Wrap(const std::string& text, int width) {
  std::vector<std::string> lines = {""};
  size_t begin = 0;
  while (begin <= text.size()) {
    const size_t end = std::min(text.find(' ', begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    if (!lines.back().empty() && DisplayWidth(lines.back()) + 1 + DisplayWidth(word) > width) lines.emplace_back();
    lines.back() += (lines.back().empty() ? "" : " ") + word;
    begin = end + 1;
  }
  return lines;
}

std::string EscapedForMarkdown(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '|') escaped += '\\';
    escaped += c == '\n' ? ' ' : c;
  }
  return escaped;
}

void TrimRight(std::string* text) { text->erase(text->find_last_not_of(' ') + 1); }

}  // namespace

std::string Styled(std::string_view text, Style style, bool colour) {
  if (!colour || style == Style::kPlain || text.empty()) return std::string(text);
  return ColourOf(style) + std::string(text) + "\x1b[0m";
}

void TextTable::AddRow(std::vector<TextCell> cells) {
  CHECK(cells.size() <= columns_.size()) << cells.size() << " cells in " << columns_.size() << " columns";
  cells.resize(columns_.size());
  rows_.push_back({.cells = std::move(cells)});
}

void TextTable::AddHeading(std::string text) { rows_.push_back({.heading = true, .cells = {TextCell(std::move(text), Style::kStrong)}}); }

std::vector<int> TextTable::Widths() const {
  std::vector<int> widths;
  for (const TextColumn& column : columns_) widths.push_back(DisplayWidth(column.header));
  for (const Row& row : rows_) {
    if (row.heading) continue;
    for (size_t i = 0; i < widths.size(); ++i) widths[i] = std::max(widths[i], DisplayWidth(row.cells[i].text));
  }
  return widths;
}

std::string TextTable::RenderRow(const Row& row, const std::vector<int>& widths, bool colour) const {
  std::vector<std::string> last_lines = {row.cells.back().text};
  if (DisplayWidth(last_lines.front()) > widths.back()) last_lines = Wrap(row.cells.back().text, widths.back());
  std::string text;
  for (size_t i = 0; i < widths.size(); ++i) {
    const bool last = i + 1 == widths.size();
    const std::string& words = last ? last_lines.front() : row.cells[i].text;
    const std::string padding(static_cast<size_t>(std::max(0, widths[i] - DisplayWidth(words))), ' ');
    const std::string styled = Styled(words, row.cells[i].style, colour);
    text += columns_[i].right ? padding + styled : styled + padding;
    if (!last) text += std::string(kGap, ' ');
  }
  TrimRight(&text);
  const int indent = std::accumulate(widths.begin(), widths.end() - 1, 0) + kGap * static_cast<int>(widths.size() - 1);
  for (size_t i = 1; i < last_lines.size(); ++i) text += "\n" + std::string(static_cast<size_t>(indent), ' ') + last_lines[i];
  return text + "\n";
}

std::string TextTable::Render(const TableLayout& layout) const {
  std::vector<int> widths = Widths();
  const int total = std::accumulate(widths.begin(), widths.end(), 0) + kGap * static_cast<int>(widths.size() - 1);
  if (layout.width > 0 && total > layout.width) {
    widths.back() = std::clamp(widths.back() - (total - layout.width), std::min(widths.back(), kNarrowestLastColumn), widths.back());
  }
  Row header;
  for (const TextColumn& column : columns_) header.cells.emplace_back(column.header, Style::kFaint);
  std::string text = RenderRow(header, widths, layout.colour);
  for (const Row& row : rows_) {
    if (!row.heading) {
      text += RenderRow(row, widths, layout.colour);
      continue;
    }
    const std::string heading = Styled(row.cells[0].text, row.cells[0].style, layout.colour);
    text += heading.empty() ? "\n" : "\n" + heading + "\n";
  }
  return text;
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
      const std::string words = i < row.cells.size() ? EscapedForMarkdown(row.cells[i].text) : "";
      text += row.heading && i == 0 ? " **" + words + "** |" : " " + words + " |";
    }
    text += "\n";
  }
  return text;
}

}  // namespace trainctl::client
