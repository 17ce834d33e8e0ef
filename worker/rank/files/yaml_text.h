// YAML text → nlohmann::json for worker/files. The only file pair of the room that knows yaml-cpp;
// its exceptions end here.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "common/base/result.h"

namespace trainctl::files {

// Plain scalars are null, true, false, numbers as JSON writes them, or else strings; quoted ones
// are strings. At most 16 levels and 1,000 values (an alias counts each time), no key twice in one
// map. kInvalid: "<source>:<line>:<column>: …".
base::Result<nlohmann::json> ParseYamlText(std::string_view text, const std::string& source);

}  // namespace trainctl::files
