// JSON text → nlohmann::json for the .cc files of worker/files and worker/data: the one place where
// nlohmann's parse exceptions end.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "common/base/result.h"

namespace trainctl::files {

// Strict JSON, at most 64 levels deep, no key twice in one object.
// kInvalid: "<source>: not JSON: …" with line and column, or the rule that was broken and the key.
base::Result<nlohmann::json> ParseJsonText(std::string_view text, const std::string& source);

}  // namespace trainctl::files
