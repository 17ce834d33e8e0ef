#include "client/top/grid.h"

#include <algorithm>
#include <utility>

#include "client/show/escaping.h"
#include "client/show/format.h"
#include "common/base/check.h"

namespace trainctl::client {
namespace {

constexpr int kGridGap = 2;

int TotalOf(const std::vector<int>& widths) {
  int total = 0;
  for (const int width : widths) total += width > 0 ? width + (total > 0 ? kGridGap : 0) : 0;
  return total;
}

}  // namespace

std::string OneLine(std::string_view text) {
  std::string line(text);
  std::ranges::replace_if(
      line, [](char c) { return c == '\n' || c == '\r' || c == '\t' || c == kOwnEscape; }, ' ');
  return Escaped(line);
}

void RowGrid::AddRow(std::vector<TextCell> cells) {
  CHECK(cells.size() <= columns_.size())
      << cells.size() << " cells in " << columns_.size() << " columns";
  cells.resize(columns_.size());
  for (TextCell& cell : cells) cell.text = OneLine(cell.text);
  rows_.push_back(std::move(cells));
}

std::vector<int> RowGrid::NaturalWidths() const {
  std::vector<int> widths(columns_.size(), 0);
  for (size_t i = 0; i < columns_.size(); ++i) {
    for (const auto& row : rows_) widths[i] = std::max(widths[i], DisplayWidth(row[i].text));
    const int header = DisplayWidth(columns_[i].header);
    const int least = columns_[i].cut ? header : std::max(columns_[i].least, header);
    if (widths[i] > 0 || i == 0) widths[i] = std::max(widths[i], least);
  }
  return widths;
}

std::vector<int> RowGrid::Widths(int width) const {
  std::vector<int> natural = NaturalWidths();
  if (width <= 0) return natural;
  const auto least = [&](size_t i) {
    return columns_[i].cut ? std::min(natural[i], columns_[i].least) : natural[i];
  };
  std::vector<int> widths(natural.size());
  while (true) {
    for (size_t i = 0; i < widths.size(); ++i) widths[i] = least(i);
    size_t first = widths.size();
    for (size_t i = 0; i < widths.size(); ++i) {
      const bool may_go = widths[i] > 0 && columns_[i].goes > 0;
      if (may_go && (first == widths.size() || columns_[i].goes > columns_[first].goes)) first = i;
    }
    if (TotalOf(widths) <= width || first == widths.size()) break;
    natural[first] = 0;
  }
  // What is left goes to the texts that were cut, the narrowest of them first.
  for (int left = width - TotalOf(widths); left > 0; --left) {
    int* narrowest = nullptr;
    for (size_t i = 0; i < widths.size(); ++i) {
      const bool grows = widths[i] > 0 && widths[i] < natural[i];
      if (grows && (narrowest == nullptr || widths[i] < *narrowest)) narrowest = &widths[i];
    }
    if (narrowest == nullptr) break;
    ++*narrowest;
  }
  return widths;
}

std::string RowGrid::Line(const std::vector<TextCell>& cells, const std::vector<int>& widths,
                          const TableLayout& layout) const {
  std::string line;
  int column = 0, written = 0;
  for (size_t i = 0; i < cells.size(); ++i) {
    if (widths[i] == 0) continue;
    if (column > 0) column += kGridGap;
    const int room = layout.width > 0 ? std::max(0, layout.width - column) : widths[i];
    const int width = std::min(widths[i], room);
    const std::string text = Truncate(cells[i].text, width);
    const int begin = column + (columns_[i].right ? width - DisplayWidth(text) : 0);
    if (!text.empty()) {
      line += std::string(static_cast<size_t>(begin - written), ' ') +
              Styled(text, cells[i].style, layout.colour);
      written = begin + DisplayWidth(text);
    }
    column += widths[i];
  }
  return line;
}

std::vector<std::string> RowGrid::Lines(const TableLayout& layout) const {
  const std::vector<int> widths = Widths(layout.width);
  std::vector<TextCell> header;
  for (const GridColumn& column : columns_) header.emplace_back(column.header, Style::kFaint);
  std::vector<std::string> lines = {Line(header, widths, layout)};
  for (const auto& row : rows_) lines.push_back(Line(row, widths, layout));
  return lines;
}

}  // namespace trainctl::client
