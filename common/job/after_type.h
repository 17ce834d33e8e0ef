// The value of resources.after: which jobs are to end, and how, before this one starts. It is read
// from {"j12": "ok", "j13": "any"}, from "j12,j13:any", which says the same, and from null: none.
// Pure values, thread-safe.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "common/job/job.h"
#include "common/json/json_node.h"

namespace trainctl::job {

std::string_view Name(After after);  // "ok" or "any"

// A kind of value, as those of value_type.h. Written as an object, or null where there is none.
struct AfterType {
  using Value = std::map<std::string, After>;
  std::optional<Value> Read(const JsonNode& node) const;
  JsonNode Write(const Value& value) const;
  std::string Expected() const;
  JsonNode Schema() const;
};

}  // namespace trainctl::job
