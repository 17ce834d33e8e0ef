#include "client/show/compare_cell.h"

#include <cmath>
#include <utility>

#include "client/show/format.h"
#include "common/base/one_line.h"

namespace trainctl::client {

std::string ValueText(const v1::CompareRow& row, const v1::CompareValue& value) {
  if (value.has_text()) return base::OnOneLine(value.text());
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

std::string HeadingOf(const v1::ComparedJob& job, int longest_name) {
  const std::string name = longest_name > 0 ? Truncate(job.name(), longest_name) : job.name();
  return NameWithId(name, job.id());
}

}  // namespace trainctl::client
