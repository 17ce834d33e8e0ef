#include "client/frame.h"

#include <cstddef>
#include <optional>
#include <string_view>

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

size_t GlyphBytes(unsigned char first) {
  return first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
}

// Latin, Greek, Cyrillic; punctuation, arrows, mathematics, boxes, blocks and Braille. Not what has
// no width, and no picture that terminals draw twice as wide.
bool IsOneColumn(std::string_view glyph) {
  const auto byte = [glyph](size_t i) { return static_cast<unsigned char>(glyph[i]); };
  if (glyph.size() == 1) return byte(0) >= 0x20 && byte(0) != 0x7F;
  if (glyph.size() == 2) return byte(0) < 0xCC || (byte(0) > 0xCD && byte(0) < 0xD2);
  if (glyph.size() != 3 || byte(0) != 0xE2) return false;
  switch (byte(1)) {
    case 0x80: return byte(2) >= 0x90;
    case 0x81: return byte(2) < 0xA0;
    case 0x97: return byte(2) < 0xBD;
    default:
      return (byte(1) >= 0x86 && byte(1) <= 0x8B) || (byte(1) >= 0x94 && byte(1) <= 0x96) ||
             (byte(1) >= 0xA0 && byte(1) <= 0xA3);
  }
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
    const std::string_view glyph = row.substr(0, GlyphBytes(static_cast<unsigned char>(row[0])));
    if (!IsOneColumn(glyph)) return std::nullopt;
    cells.push_back({glyph, style});
    row.remove_prefix(glyph.size());
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
