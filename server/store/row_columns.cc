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

JobText ReadJobText(Database& database, Statement& statement) {
  JobText text;
  core::JobRow& row = text.row;
  ColumnReader(database, statement)(row.id, row.group, row.request_id, row.spec.name, text.spec,
                                    text.inspection, text.prediction, row.submitted_at, row.force,
                                    row.auto_micro_batch, row.user);
  return text;
}

core::JobRow ReadJob(JobText text) {
  core::JobRow row = std::move(text.row);
  row.inspection = ReadAnnex<job::Inspection>(text.inspection, job::InspectionFromJson);
  row.prediction = ReadAnnex<job::Prediction>(text.prediction, job::PredictionFromJson);
  base::Result<job::JobSpec> parsed = job::FromJson(text.spec);
  if (parsed.ok()) {
    row.spec = std::move(*parsed);
  } else {
    row.unreadable = core::UnreadableSpec{std::move(text.spec), parsed.error().message};
  }
  return row;
}

core::JobRow ReadJob(Database& database, Statement& statement) {
  return ReadJob(ReadJobText(database, statement));
}

std::string Placeholders(const char* columns) {
  std::string text = "?";
  for (const char* c = columns; *c != 0; ++c) {
    if (*c == ',') text += ", ?";
  }
  return text;
}

}  // namespace trainctl::store
