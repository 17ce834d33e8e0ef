#include "server/views/encode_comparison.h"

#include "common/wire/comparison_doubt.h"
#include "proto/trainctl.pb.h"

namespace trainctl::views {
namespace {

void EncodeValue(const compare::Value& value, v1::CompareValue* message) {
  if (const auto* number = std::get_if<double>(&value.value)) message->set_number(*number);
  if (const auto* text = std::get_if<std::string>(&value.value)) message->set_text(*text);
  if (value.delta) message->set_delta(*value.delta);
  message->set_best(value.best);
  message->set_note(value.note);
}

void EncodeRow(const compare::Row& row, v1::CompareRow* message) {
  message->set_key(row.key);
  message->set_label(row.label);
  message->set_unit(row.unit);
  message->set_section(row.section);
  for (const compare::Value& value : row.values) EncodeValue(value, message->add_values());
}

}  // namespace

v1::CompareResponse EncodeComparison(const coordinator::Comparison& comparison) {
  v1::CompareResponse response;
  for (const compare::Run& run : comparison.runs) {
    v1::ComparedJob* job = response.add_jobs();
    job->set_id(run.id);
    job->set_name(run.name);
    job->set_state(std::string(job::Name(run.state)));
    if (run.outcome) job->set_outcome(std::string(job::Name(*run.outcome)));
    job->set_device_name(run.device_name);
  }
  for (const compare::Row& row : comparison.table.rows) EncodeRow(row, response.add_rows());
  for (const std::string& text : comparison.table.same) response.add_same(text);
  for (const compare::Warning& warning : comparison.table.warnings) {
    response.add_warnings(warning.text);
    v1::SectionNames* names = response.add_warning_sections();
    for (const std::string& section : warning.sections) names->add_sections(section);
  }
  wire::AddDoubts(&response);
  return response;
}

}  // namespace trainctl::views
