#include "client/show/reference_results.h"

#include <algorithm>

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

}  // namespace

base::Result<ReferenceResults> ReferenceResults::Read(const std::string& text,
                                                      const std::string& source) {
  const Json document = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  const Json* jobs = ListIn(document, "jobs");
  const Json* rows = ListIn(document, "rows");
  if (jobs == nullptr || rows == nullptr) {
    return base::Error{base::Code::kInvalid,
                       source +
                           ": expected a comparison with \"jobs\" and \"rows\", as trainctl "
                           "export writes comparison.json"};
  }
  ReferenceResults results;
  for (const Json& row : *rows) {
    const Json* values = ListIn(row, "values");
    for (size_t i = 0; values != nullptr && i < std::min(values->size(), jobs->size()); ++i) {
      if ((*values)[i].is_number())
        results.numbers_[TextIn((*jobs)[i], "name")][TextIn(row, "key")] = (*values)[i];
    }
  }
  return results;
}

std::optional<double> ReferenceResults::Number(const std::string& experiment,
                                               std::string_view key) const {
  const auto numbers = numbers_.find(experiment);
  if (numbers == numbers_.end()) return std::nullopt;
  const auto number = numbers->second.find(key);
  return number == numbers->second.end() ? std::nullopt : std::optional(number->second);
}

}  // namespace trainctl::client
