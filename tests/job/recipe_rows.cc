#include "tests/job/recipe_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <set>
#include <sstream>
#include <vector>

#include "common/base/file.h"
#include "tests/checkout.h"

namespace trainctl::job {
namespace {

using Cells = std::vector<std::string>;

std::string Path() { return checkout::File("deploy/recipes/README.md"); }

// "| a | b |" → a, b. None of a line that is no row.
Cells CellsOf(const std::string& line) {
  Cells cells;
  if (!line.starts_with("| ")) return cells;
  for (size_t begin = 2; begin < line.size();) {
    const size_t end = std::min(line.find(" |", begin - 1), line.size());
    cells.push_back(end > begin ? line.substr(begin, end - begin) : "");
    begin = end + 3;
  }
  return cells;
}

std::string LineOf(const Cells& cells) {
  std::string line = "|";
  for (const std::string& cell : cells) line += " " + cell + " |";
  return line;
}

// Where the columns stand in the table of this header; nullopt: it tells no times. Those of memory
// are beyond the last cell where it tells none.
struct Columns {
  size_t seconds, predicted, error;
  size_t peak, predicted_peak, error_of_memory;
};

std::optional<Columns> ColumnsOf(const Cells& header) {
  const auto place = [&](const char* name) {
    return static_cast<size_t>(std::ranges::find(header, name) - header.begin());
  };
  const size_t named = place("predicted s/step");
  const Columns columns{place("s/step"),
                        named < header.size() ? named : place("predicted"),
                        place("error of the time"),
                        place("measured peak"),
                        place("predicted peak"),
                        place("error")};
  const bool has_all =
      std::max({columns.seconds, columns.predicted, columns.error}) < header.size();
  return has_all ? std::optional(columns) : std::nullopt;
}

// Each line of the page goes through visit, which may change the cells of a row.
std::string Walk(const std::function<void(const std::string& id, const Columns&, Cells*)>& visit) {
  std::istringstream page(base::ReadFile(Path(), 1 << 20).value());
  std::string written, line;
  std::optional<Columns> columns;
  std::set<std::string> seen;
  while (std::getline(page, line)) {
    Cells cells = CellsOf(line);
    if (!line.starts_with("|")) columns.reset();
    if (const auto found = ColumnsOf(cells)) {
      columns = found;
    } else if (columns && cells.size() > columns->error && cells[0] != "---") {
      const std::string id = cells[0].substr(0, cells[0].find(' '));
      if (seen.insert(id).second) visit(id, *columns, &cells);
      line = LineOf(cells);
    }
    written += line + "\n";
  }
  return written;
}

bool TellsMemory(const Columns& columns, const Cells& cells) {
  return std::max({columns.peak, columns.predicted_peak, columns.error_of_memory}) < cells.size();
}

RecipeRow RowOf(const Columns& columns, const Cells& cells) {
  RecipeRow row{.predicted = cells[columns.predicted], .error = cells[columns.error]};
  if (const std::string& seconds = cells[columns.seconds]; !seconds.empty()) {
    row.step_seconds = std::stod(seconds);
    row.decimals = static_cast<int>(seconds.size() - seconds.find('.') - 1);
  }
  if (TellsMemory(columns, cells)) {
    row.peak_gib = std::stod(cells[columns.peak]);
    row.predicted_peak = cells[columns.predicted_peak];
    row.error_of_memory = cells[columns.error_of_memory];
  }
  return row;
}

}  // namespace

std::map<std::string, RecipeRow> ReadRecipeRows() {
  std::map<std::string, RecipeRow> rows;
  Walk([&](const std::string& id, const Columns& columns, const Cells* cells) {
    rows[id] = RowOf(columns, *cells);
  });
  return rows;
}

void WriteRecipeRows(const std::function<RecipeRow(const std::string& id, RecipeRow row)>& change) {
  const std::string page = Walk([&](const std::string& id, const Columns& columns, Cells* cells) {
    const RecipeRow row = change(id, RowOf(columns, *cells));
    (*cells)[columns.predicted] = row.predicted;
    (*cells)[columns.error] = row.error;
    if (!TellsMemory(columns, *cells)) return;
    (*cells)[columns.predicted_peak] = row.predicted_peak;
    (*cells)[columns.error_of_memory] = row.error_of_memory;
  });
  ASSERT_TRUE(base::WriteFileAtomically(Path(), page).ok());
}

}  // namespace trainctl::job
