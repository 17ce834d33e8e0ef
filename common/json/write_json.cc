#include "common/json/write_json.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "common/base/check.h"

namespace trainctl::job {
namespace {

using Json = nlohmann::ordered_json;

Json FromReal(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity";
}

Json Convert(const JsonNode& node) {
  switch (node.type) {
    case JsonNode::Type::kNull: return nullptr;
    case JsonNode::Type::kBool: return node.boolean;
    case JsonNode::Type::kInteger: return node.integer;
    case JsonNode::Type::kReal: return FromReal(node.real);
    case JsonNode::Type::kString: return node.text;
    case JsonNode::Type::kArray: {
      Json array = Json::array();
      for (const JsonNode& item : node.items) array.push_back(Convert(item));
      return array;
    }
    case JsonNode::Type::kObject: {
      Json object = Json::object();
      for (size_t i = 0; i < node.items.size(); ++i) object[node.keys[i]] = Convert(node.items[i]);
      return object;
    }
  }
  CHECK(false) << "JSON type " << static_cast<int>(node.type);
  return nullptr;
}

std::string Dump(const JsonNode& node, int indent) {
  return Convert(node).dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string WriteJson(const JsonNode& node) { return Dump(node, -1); }

std::string WriteIndentedJson(const JsonNode& node) { return Dump(node, 2) + "\n"; }

}  // namespace trainctl::job
