#include "client/show/foresight.h"

#include "client/show/format.h"
#include "common/record/foresight.h"

namespace trainctl::client {

TextTable ForesightTable(const job::Prediction& prediction, const v1::JobDetail& detail) {
  TextTable table(
      {{"PREDICTION AND MEASUREMENT"}, {"PREDICTED", true}, {"MEASURED", true}, {"ERROR", true}});
  for (const record::ForesightRow& row : record::ForesightRows(prediction, detail)) {
    table.AddRow({std::string(row.metric->label), FormatWithUnit(row.predicted, row.metric->unit),
                  FormatWithUnit(row.measured, row.metric->unit) +
                      (row.phase.empty() ? "" : " (" + row.phase + ")"),
                  row.is_comparable ? FormatDelta(row.error()) : "–"});
  }
  return table;
}

std::string ForesightText(const job::Prediction& prediction, const v1::JobDetail& detail,
                          const TableLayout& layout) {
  const TextTable table = ForesightTable(prediction, detail);
  return table.empty() ? "" : table.Render(layout);
}

}  // namespace trainctl::client
