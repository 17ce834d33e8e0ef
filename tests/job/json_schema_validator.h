// The part of JSON Schema 2020-12 that the published schema uses; any other keyword fails the test,
// so that nothing is taken as checked that is not. For tests.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace trainctl::job {

// What does not fit, as "place: keyword"; empty: valid. Places are JSON pointers.
std::vector<std::string> Validate(const nlohmann::json& root_schema, const nlohmann::json& value);

}  // namespace trainctl::job
