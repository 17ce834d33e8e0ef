// Strict JSON → JsonNode. Each of these is refused, with its place: what is not JSON (comments and
// trailing commas included), duplicate keys, invalid UTF-8; numbers that no double can hold,
// nesting and sizes beyond the limits. Never throws; work and memory are linear in the text.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "common/json/json_node.h"
#include "common/json/problem.h"

namespace trainctl::job {

struct JsonLimits {
  size_t max_bytes = size_t{1} << 20;
  size_t max_depth = 64;  // brackets that are open at once
};

struct JsonText {
  std::optional<JsonNode> root;   // absent where the text could not be read to its end
  std::vector<Problem> problems;  // duplicate keys are listed all, and the first of each is kept;
                                  // any other fault ends the reading
};

JsonText ReadJson(std::string_view text, const JsonLimits& limits = {});

}  // namespace trainctl::job
