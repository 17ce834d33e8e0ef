#include "common/record/comparison_record.h"

#include <cmath>
#include <string>

#include "common/record/comparison_definitions.h"
#include "common/wire/comparison_doubt.h"

namespace trainctl::record {
namespace {

Json RowRecord(const v1::CompareRow& row) {
  Json values = Json::array(), deltas = Json::array(), best = Json::array(), notes = Json::array();
  for (const v1::CompareValue& value : row.values()) {
    values.push_back(ValueJson(value));
    deltas.push_back(value.has_delta() ? Json(value.delta()) : Json(nullptr));
    best.push_back(value.best());
    notes.push_back(value.note());
  }
  return {
      {"key", row.key()}, {"label", row.label()}, {"unit", row.unit()}, {"section", row.section()},
      {"values", values}, {"deltas", deltas},     {"best", best},       {"notes", notes}};
}

std::vector<std::string> Strings(const auto& repeated) {
  return {repeated.begin(), repeated.end()};
}

}  // namespace

// Bytes and batch sizes are counts.
Json ValueJson(const v1::CompareValue& value) {
  if (value.has_text()) return value.text();
  if (!value.has_number()) return nullptr;
  const double number = value.number();
  const bool is_whole = number == std::trunc(number) && std::abs(number) < 1e15;
  return is_whole ? Json(static_cast<int64_t>(number)) : Json(number);
}

std::vector<std::string> SectionsOf(const v1::CompareResponse& response, int warning) {
  if (warning >= response.warning_sections_size()) return {};
  return Strings(response.warning_sections(warning).sections());
}

Json ComparisonDocument(const v1::CompareResponse& response) {
  Json jobs = Json::array();
  for (const v1::ComparedJob& job : response.jobs()) {
    const Json outcome = job.outcome().empty() ? Json(nullptr) : Json(job.outcome());
    const Json device_name = job.device_name().empty() ? Json(nullptr) : Json(job.device_name());
    jobs.push_back({{"id", job.id()},
                    {"name", job.name()},
                    {"state", job.state()},
                    {"outcome", outcome},
                    {"device_name", device_name}});
  }
  Json warning_sections = Json::array(), doubts = Json::object();
  for (int i = 0; i < response.warnings_size(); ++i) {
    warning_sections.push_back(SectionsOf(response, i));
    for (const std::string& section : SectionsOf(response, i))
      doubts[section] = wire::DoubtOf(response, section);
  }
  return {{"jobs", jobs},
          {"rows", RowRecords(response)},
          {"same", Strings(response.same())},
          {"warnings", Strings(response.warnings())},
          {"warning_sections", warning_sections},
          {"doubtful_sections", doubts},
          {"definitions", DefinitionsOf(response)}};
}

std::vector<Json> RowRecords(const v1::CompareResponse& response) {
  std::vector<Json> records;
  for (const v1::CompareRow& row : response.rows()) records.push_back(RowRecord(row));
  return records;
}

}  // namespace trainctl::record
