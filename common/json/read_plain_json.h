// JSON as programs write it: one line without spaces, of printable ASCII without escapes. That is
// most of what is stored and sent, and is read some times faster than by read_json.h. Whoever
// reads JSON calls that one: it asks here first.
#pragma once

#include <optional>
#include <string_view>

#include "common/json/json_node.h"
#include "common/json/read_json.h"

namespace trainctl::job {

// The same tree as ReadJson's. nullopt: the text has something else, or a fault, which ReadJson
// names. Work is linear in the text. The caller has looked at limits.max_bytes.
std::optional<JsonNode> ReadPlainJson(std::string_view text, const JsonLimits& limits);

}  // namespace trainctl::job
