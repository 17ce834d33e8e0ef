// Rows of one line each, in columns that give way to the width of the paper: the least wanted go,
// long texts are cut. Not thread-safe.
#pragma once

#include <string>
#include <vector>

#include "client/show/text_table.h"

namespace trainctl::client {

struct GridColumn {
  std::string header;
  bool right = false;
  int least = 0;     // columns that it takes at least; so a number that grows moves nothing
  bool cut = false;  // down to `least`, where the paper is narrow
  int goes = 0;      // the highest goes first where all can't stand; 0: stays
};

class RowGrid {
 public:
  explicit RowGrid(std::vector<GridColumn> columns) : columns_(std::move(columns)) {}

  // Missing cells are empty. What a terminal would obey is shown; line ends are spaces.
  void AddRow(std::vector<TextCell> cells);

  bool empty() const { return rows_.empty(); }
  size_t size() const { return rows_.size(); }

  // The header's line, then one a row, none wider than layout.width (0: unlimited). A column
  // without a text in any row is left out.
  std::vector<std::string> Lines(const TableLayout& layout) const;

 private:
  std::vector<int> Widths(int width) const;  // of each column; 0: it does not stand
  std::vector<int> NaturalWidths() const;
  std::string Line(const std::vector<TextCell>& cells, const std::vector<int>& widths,
                   const TableLayout& layout) const;

  std::vector<GridColumn> columns_;
  std::vector<std::vector<TextCell>> rows_;
};

// As a cell: escaped, on one line.
std::string OneLine(std::string_view text);

}  // namespace trainctl::client
