#include "client/frame.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

#include "common/base/utf8.h"

namespace trainctl::client {
namespace {

// What a cursor move costs about: shorter runs of equal columns are sent again.
constexpr size_t kMoveBytes = 8;

// A column of the terminal.
struct Cell {
  std::string_view glyph;
  std::string style;  // the sequences since the last reset

  bool operator==(const Cell&) const = default;
};

// Latin, Greek, Cyrillic; punctuation, arrows, mathematics, boxes, blocks and Braille. Not what has
// no width, and no picture that terminals draw twice as wide.
bool IsOneColumn(char32_t value) {
  struct Range {
    char32_t first, last;
  };
  constexpr std::array kOneColumn = {
      Range{0x20, 0x7E},     Range{0xA0, 0x2FF},    Range{0x380, 0x47F},  Range{0x2010, 0x205F},
      Range{0x2180, 0x22FF}, Range{0x2500, 0x25FC}, Range{0x2800, 0x28FF}};
  const auto holds = [value](const Range& range) {
    return value >= range.first && value <= range.last;
  };
  return std::ranges::any_of(kOneColumn, holds) && !base::IsControl(value);
}

// nullopt: its columns are not known.
std::optional<std::vector<Cell>> CellsOf(std::string_view row) {
  std::vector<Cell> cells;
  std::string style;
  while (!row.empty()) {
    if (row.starts_with("\x1b[")) {
      const size_t end = row.find('m');
      if (end == std::string_view::npos) return std::nullopt;
      const std::string_view sequence = row.substr(0, end + 1);
      style = sequence == "\x1b[0m" ? "" : style + std::string(sequence);
      row.remove_prefix(end + 1);
      continue;
    }
    const std::optional<base::CodePoint> first = base::FirstCodePoint(row);
    if (!first || !IsOneColumn(first->value)) return std::nullopt;
    cells.push_back({row.substr(0, first->bytes), style});
    row.remove_prefix(first->bytes);
  }
  return cells;
}

std::string MoveTo(size_t row, size_t column) {
  return "\x1b[" + std::to_string(row + 1) + ";" + std::to_string(column + 1) + "H";
}

std::string Written(const std::vector<Cell>& cells, size_t begin, size_t end) {
  std::string bytes, style;
  for (size_t i = begin; i < end; ++i) {
    if (cells[i].style != style) bytes += (style.empty() ? "" : "\x1b[0m") + cells[i].style;
    style = cells[i].style;
    bytes += cells[i].glyph;
  }
  return style.empty() ? bytes : bytes + "\x1b[0m";
}

std::string ChangedColumns(size_t row, const std::vector<Cell>& before,
                           const std::vector<Cell>& after) {
  std::string bytes;
  const auto same = [&](size_t i) { return i < before.size() && before[i] == after[i]; };
  for (size_t i = 0; i < after.size();) {
    if (same(i)) {
      ++i;
      continue;
    }
    size_t end = i + 1;
    for (size_t next = end; next < after.size() && next - end < kMoveBytes; ++next) {
      if (!same(next)) end = next + 1;
    }
    bytes += MoveTo(row, i) + Written(after, i, end);
    i = end;
  }
  if (before.size() > after.size()) bytes += MoveTo(row, after.size()) + "\x1b[K";
  return bytes;
}

}  // namespace

std::string FrameBytes(const std::vector<std::string>& drawn,
                       const std::vector<std::string>& rows) {
  std::string bytes;
  for (size_t i = 0; i < rows.size(); ++i) {
    const std::string before = i < drawn.size() ? drawn[i] : "";
    if (before == rows[i]) continue;
    const auto old_cells = CellsOf(before), cells = CellsOf(rows[i]);
    bytes += old_cells && cells ? ChangedColumns(i, *old_cells, *cells)
                                : MoveTo(i, 0) + "\x1b[2K" + rows[i] + "\x1b[0m";
  }
  return bytes;
}

}  // namespace trainctl::client
