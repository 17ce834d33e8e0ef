#include "client/show/reference_results.h"

#include <algorithm>
#include <utility>

#include "common/record/document.h"

namespace trainctl::client {
namespace {

using record::Json;

// Nothing where there is no such list.
const Json* ListIn(const Json& object, const char* key) {
  if (!object.is_object()) return nullptr;
  const auto member = object.find(key);
  return member != object.end() && member->is_array() ? &*member : nullptr;
}

std::string TextIn(const Json& object, const char* key) {
  if (!object.is_object()) return "";
  const auto member = object.find(key);
  return member != object.end() && member->is_string() ? member->get<std::string>() : "";
}

std::string OnDevice(const std::string& device_name) {
  return device_name.empty() ? "" : ", on " + device_name;
}

}  // namespace

base::Status ReferenceResults::Add(const std::string& text, const std::string& source) {
  const Json document = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  const Json* jobs = ListIn(document, "jobs");
  const Json* rows = ListIn(document, "rows");
  if (jobs == nullptr || rows == nullptr) {
    return base::Error{base::Code::kInvalid,
                       source +
                           ": expected a comparison with \"jobs\" and \"rows\", as trainctl "
                           "export writes comparison.json"};
  }
  const std::string measured = TextIn(document, "measured");
  std::map<std::string, Experiment> added;
  for (const Json& row : *rows) {
    const Json* values = ListIn(row, "values");
    for (size_t i = 0; values != nullptr && i < std::min(values->size(), jobs->size()); ++i) {
      if (!(*values)[i].is_number()) continue;
      const Json& job = (*jobs)[i];
      Experiment& experiment = added[TextIn(job, "name")];
      experiment.device_name = TextIn(job, "device_name");
      experiment.origin = measured.empty() ? TextIn(job, "id") : measured;
      experiment.described_origin =
          measured.empty() ? source + OnDevice(experiment.device_name) : measured;
      experiment.numbers[TextIn(row, "key")] = (*values)[i];
    }
  }
  for (auto& [name, experiment] : added) experiments_[name] = std::move(experiment);
  return base::Ok{};
}

const ReferenceResults::Experiment& ReferenceResults::Find(const std::string& experiment) const {
  static const Experiment kNone;
  const auto found = experiments_.find(experiment);
  return found == experiments_.end() ? kNone : found->second;
}

std::string ReferenceResults::Origin(const std::string& experiment) const {
  return Find(experiment).origin;
}

std::string ReferenceResults::DescribedOrigin(const std::string& experiment) const {
  return Find(experiment).described_origin;
}

std::string ReferenceResults::DeviceName(const std::string& experiment) const {
  return Find(experiment).device_name;
}

std::optional<double> ReferenceResults::Number(const std::string& experiment,
                                               std::string_view key) const {
  const auto& numbers = Find(experiment).numbers;
  const auto number = numbers.find(key);
  return number == numbers.end() ? std::nullopt : std::optional(number->second);
}

}  // namespace trainctl::client
