#include "common/json/json_node.h"

#include <algorithm>

#include "common/base/check.h"

namespace trainctl::job {

const JsonNode* JsonNode::Find(std::string_view key) const {
  const auto found = std::find(keys.begin(), keys.end(), key);
  return found == keys.end() ? nullptr : &items[static_cast<size_t>(found - keys.begin())];
}

JsonNode* JsonNode::Find(std::string_view key) {
  return const_cast<JsonNode*>(std::as_const(*this).Find(key));
}

JsonNode& JsonNode::Add(std::string key, JsonNode value) & {
  CHECK(Is(Type::kObject)) << key;
  keys.push_back(std::move(key));
  items.push_back(std::move(value));
  return *this;
}

JsonNode& JsonNode::Append(JsonNode value) & {
  CHECK(Is(Type::kArray));
  items.push_back(std::move(value));
  return *this;
}

}  // namespace trainctl::job
