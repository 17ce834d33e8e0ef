#include "server/store/row_columns.h"

#include "common/estimate/memory_estimate.h"
#include "common/job/job_json.h"

namespace trainctl::store {

namespace {

// What can't be read any more is as if it had never been there: it can be made anew.
template <class T, class Read>
std::optional<T> ReadAnnex(const std::string& text, const Read& read) {
  if (text.empty()) return std::nullopt;
  base::Result<T> value = read(text);
  return value ? std::optional<T>(std::move(*value)) : std::nullopt;
}

}  // namespace

core::JobRow ReadJob(Database& database, Statement& statement) {
  core::JobRow row;
  std::string name, spec, inspection, prediction;
  ColumnReader(database, statement)(row.id, row.group, row.request_id, name, spec, inspection,
                                    prediction, row.submitted_at, row.force, row.auto_micro_batch,
                                    row.user);
  row.inspection = ReadAnnex<job::Inspection>(inspection, job::InspectionFromJson);
  row.prediction = ReadAnnex<job::Prediction>(prediction, job::PredictionFromJson);
  base::Result<job::JobSpec> parsed = job::FromJson(spec);
  if (parsed.ok()) {
    row.spec = std::move(*parsed);
  } else {
    row.spec.name = name;
    row.unreadable = core::UnreadableSpec{spec, parsed.error().message};
  }
  return row;
}

std::string Placeholders(const char* columns) {
  std::string text = "?";
  for (const char* c = columns; *c != 0; ++c) {
    if (*c == ',') text += ", ?";
  }
  return text;
}

}  // namespace trainctl::store
