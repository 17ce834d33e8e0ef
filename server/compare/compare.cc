#include "server/compare/compare.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "common/base/check.h"
#include "server/compare/sections.h"

namespace trainctl::compare {
namespace {

bool HasValue(const Row& row) {
  for (const Value& value : row.values) {
    if (!value.empty()) return true;
  }
  return false;
}

void KeepSectionsOfRows(Table* table) {
  for (Warning& warning : table->warnings) {
    std::erase_if(warning.sections, [table](const std::string& section) {
      return std::ranges::find(table->rows, section, &Row::section) == table->rows.end();
    });
  }
}

}  // namespace

Table Compare(const std::vector<Run>& runs, size_t base) {
  CHECK(base < runs.size()) << "base " << base << " of " << runs.size() << " runs";
  Table table;
  Comparability comparability = ComparabilityOf(runs);
  table.rows = ChangedRows(runs);
  for (Row& row : MeasuredRows(runs, base, comparability)) {
    if (!HasValue(row)) continue;
    MarkRow(runs, base, comparability, &row);
    table.rows.push_back(std::move(row));
  }
  for (Row& row : TextRows(runs)) table.rows.push_back(std::move(row));
  table.same = SameSettings(runs);
  table.warnings = std::move(comparability.warnings);
  KeepSectionsOfRows(&table);
  return table;
}

}  // namespace trainctl::compare
