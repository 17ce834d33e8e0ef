#include "worker/rank/files/yaml_text.h"

#include <yaml-cpp/yaml.h>

namespace trainctl::files {
namespace {

using nlohmann::json;

constexpr int kDeepest = 16;
constexpr int kMostYamlValues = 1000;

json Scalar(const YAML::Node& node) {
  const std::string& text = node.Scalar();
  if (node.Tag() == "!") return text;  // quoted
  if (text == "~" || text.empty()) return nullptr;
  for (const char* word : {"null", "Null", "NULL"}) {
    if (text == word) return nullptr;
  }
  for (const char* word : {"true", "True", "TRUE"}) {
    if (text == word) return true;
  }
  for (const char* word : {"false", "False", "FALSE"}) {
    if (text == word) return false;
  }
  json number = json::parse(text, nullptr, /*allow_exceptions=*/false);
  return number.is_number() ? number : json(text);
}

class Converter {
 public:
  json Convert(const YAML::Node& node, int depth) {
    if (depth > kDeepest) Fail(node, "nested more than " + std::to_string(kDeepest) + " deep");
    if (++values_ > kMostYamlValues)
      Fail(node, "more than " + std::to_string(kMostYamlValues) + " values");
    if (node.IsMap()) return Map(node, depth);
    if (!node.IsSequence()) return node.IsScalar() ? Scalar(node) : json();
    json list = json::array();
    for (const YAML::Node& item : node) list.push_back(Convert(item, depth + 1));
    return list;
  }

 private:
  [[noreturn]] static void Fail(const YAML::Node& node, const std::string& what) {
    throw YAML::Exception(node.Mark(), what);
  }

  json Map(const YAML::Node& node, int depth) {
    json map = json::object();
    for (const auto& member : node) {
      if (!member.first.IsScalar()) Fail(member.first, "expected a key");
      const std::string& key = member.first.Scalar();
      if (map.contains(key)) Fail(member.first, "the key '" + key + "' stands twice");
      map[key] = Convert(member.second, depth + 1);
    }
    return map;
  }

  int values_ = 0;
};

}  // namespace

base::Result<json> ParseYamlText(std::string_view text, const std::string& source) {
  try {
    return Converter().Convert(YAML::Load(std::string(text)), 0);
  } catch (const YAML::Exception& error) {
    const std::string place = source + ":" + std::to_string(error.mark.line + 1) + ":" +
                              std::to_string(error.mark.column + 1);
    return base::Error{base::Code::kInvalid, place + ": not valid YAML: " + error.msg};
  }
}

}  // namespace trainctl::files
