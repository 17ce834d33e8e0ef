#include "server/store/row_columns.h"

#include "common/job/job_json.h"

namespace trainctl::store {

core::JobRow ReadJob(Database& database, Statement& statement) {
  core::JobRow row;
  std::string spec;
  ColumnReader(database, statement)(row.id, row.group, row.request_id, spec, row.inspection_json,
                                    row.prediction_json, row.submitted_at, row.force,
                                    row.auto_micro_batch);
  base::Result<job::JobSpec> parsed = job::FromJson(spec);
  if (parsed.ok()) {
    row.spec = std::move(*parsed);
  } else {
    database.Refuse("the stored job file of " + base::ToString(row.id) +
                    " is damaged: " + parsed.error().message);
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
