// JSON text → nlohmann::json for the .cc files of worker/files and worker/data: the one place where
// nlohmann's parse exceptions end.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "common/base/result.h"

namespace trainctl::files {

// Strict JSON, at most 64 levels deep, no key twice in one object.
// kInvalid: "<source>: not JSON: …" with line and column, or the rule that was broken and the key.
base::Result<nlohmann::json> ParseJsonText(std::string_view text, const std::string& source);

// One element of a list, and how many bytes of the text are read. false ends the reading.
using TakeElement = std::function<bool(const nlohmann::json& element, int64_t read_bytes)>;

// The same rules for a text that is one list, of which no more than an element is held. Elements
// come as they are read: those before a fault too.
base::Status ParseJsonList(std::string_view text, const std::string& source,
                           const TakeElement& take);

}  // namespace trainctl::files
