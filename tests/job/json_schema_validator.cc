#include "tests/job/json_schema_validator.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <regex>
#include <set>

namespace trainctl::job {
namespace {

using nlohmann::json;

class Validator {
 public:
  explicit Validator(const json& root) : root_(root) {}

  void Check(const json& schema, const json& value, const std::string& place) {
    for (const auto& [keyword, argument] : schema.items())
      Keyword(schema, keyword, argument, value, place);
  }

  std::vector<std::string> faults;

 private:
  bool Fits(const json& schema, const json& value) const {
    Validator inner(root_);
    inner.Check(schema, value, "");
    return inner.faults.empty();
  }

  void Require(bool fits, const std::string& place, const std::string& keyword) {
    if (!fits) faults.push_back(place + ": " + keyword);
  }

  static bool IsOfType(const json& value, const std::string& type) {
    if (type == "object") return value.is_object();
    if (type == "array") return value.is_array();
    if (type == "string") return value.is_string();
    if (type == "boolean") return value.is_boolean();
    if (type == "number") return value.is_number();
    if (type == "integer")
      return value.is_number() && std::floor(value.get<double>()) == value.get<double>();
    return false;
  }

  void Keyword(const json& schema, const std::string& keyword, const json& argument,
               const json& value, const std::string& place) {
    static const std::set<std::string> kAnnotations = {
        "$schema", "$defs", "title", "description", "default", "then", "else", "patternProperties"};
    if (kAnnotations.contains(keyword)) return;
    if (keyword == "$ref")
      return Check(root_.at(json::json_pointer(argument.get<std::string>().substr(1))), value,
                   place);
    if (keyword == "if")
      return Check(schema.at(Fits(argument, value) ? "then" : "else"), value, place);
    if (keyword == "anyOf") {
      return Require(std::any_of(argument.begin(), argument.end(),
                                 [&](const json& one) { return Fits(one, value); }),
                     place, keyword);
    }
    if (keyword == "type") return Require(IsOfType(value, argument), place, keyword);
    if (keyword == "const") return Require(value == argument, place, keyword);
    if (keyword == "enum")
      return Require(std::find(argument.begin(), argument.end(), value) != argument.end(), place,
                     keyword);
    if (value.is_number() && Bound(keyword, argument, value, place)) return;
    if (value.is_string() && OfString(keyword, argument, value, place)) return;
    if (value.is_array() && OfArray(keyword, argument, value, place)) return;
    if (value.is_object() && OfObject(schema, keyword, argument, value, place)) return;
    static const std::set<std::string> kOfOtherTypes = {
        "minimum",    "maximum",       "exclusiveMinimum", "exclusiveMaximum",
        "minLength",  "maxLength",     "pattern",          "items",
        "minItems",   "maxItems",      "uniqueItems",      "additionalProperties",
        "properties", "propertyNames", "required",         "maxProperties"};
    Require(kOfOtherTypes.contains(keyword), place, "unknown keyword " + keyword);
  }

  bool Bound(const std::string& keyword, double bound, double value, const std::string& place) {
    if (keyword == "minimum")
      Require(value >= bound, place, keyword);
    else if (keyword == "maximum")
      Require(value <= bound, place, keyword);
    else if (keyword == "exclusiveMinimum")
      Require(value > bound, place, keyword);
    else if (keyword == "exclusiveMaximum")
      Require(value < bound, place, keyword);
    else
      return false;
    return true;
  }
  bool Bound(const std::string& keyword, const json& argument, const json& value,
             const std::string& place) {
    return argument.is_number() &&
           Bound(keyword, argument.get<double>(), value.get<double>(), place);
  }

  // Compiling one takes longer than all that is done with it.
  static const std::regex& Pattern(const std::string& text) {
    static std::map<std::string, std::regex> compiled;
    const auto known = compiled.find(text);
    return known != compiled.end() ? known->second : compiled.emplace(text, text).first->second;
  }

  bool OfString(const std::string& keyword, const json& argument, const std::string& value,
                const std::string& place) {
    if (keyword == "minLength")
      Require(value.size() >= argument.get<size_t>(), place, keyword);
    else if (keyword == "maxLength")
      Require(value.size() <= argument.get<size_t>(), place, keyword);
    else if (keyword == "pattern")
      Require(std::regex_search(value, Pattern(argument)), place, keyword);
    else
      return false;
    return true;
  }

  bool OfArray(const std::string& keyword, const json& argument, const json& value,
               const std::string& place) {
    if (keyword == "minItems") {
      Require(value.size() >= argument.get<size_t>(), place, keyword);
    } else if (keyword == "maxItems") {
      Require(value.size() <= argument.get<size_t>(), place, keyword);
    } else if (keyword == "uniqueItems") {
      Require(std::set<json>(value.begin(), value.end()).size() == value.size(), place, keyword);
    } else if (keyword == "items") {
      for (size_t i = 0; i < value.size(); ++i)
        Check(argument, value[i], place + "/" + std::to_string(i));
    } else {
      return false;
    }
    return true;
  }

  bool OfObject(const json& schema, const std::string& keyword, const json& argument,
                const json& value, const std::string& place) {
    if (keyword == "required") {
      for (const json& name : argument)
        Require(value.contains(name), place + "/" + name.get<std::string>(), keyword);
    } else if (keyword == "maxProperties") {
      Require(value.size() <= argument.get<size_t>(), place, keyword);
    } else if (keyword == "propertyNames") {
      for (const auto& [name, member] : value.items()) Check(argument, name, place);
    } else if (keyword == "properties") {
      for (const auto& [name, one] : argument.items()) {
        if (value.contains(name)) Check(one, value.at(name), place + "/" + name);
      }
    } else if (keyword == "additionalProperties") {
      Others(schema, argument, value, place);
    } else {
      return false;
    }
    return true;
  }

  // Members that neither properties nor patternProperties describe.
  void Others(const json& schema, const json& argument, const json& value,
              const std::string& place) {
    const json none = json::object();
    const json& known = schema.contains("properties") ? schema["properties"] : none;
    const json& patterns =
        schema.contains("patternProperties") ? schema["patternProperties"] : none;
    for (const auto& [name, member] : value.items()) {
      bool described = known.contains(name);
      for (const auto& [pattern, one] : patterns.items()) {
        if (!std::regex_search(name, std::regex(pattern))) continue;
        described = true;
        Check(one, member, place + "/" + name);
      }
      if (described) continue;
      if (argument.is_object())
        Check(argument, member, place + "/" + name);
      else
        Require(argument.get<bool>(), place + "/" + name, "additionalProperties");
    }
  }

  const json& root_;
};

}  // namespace

std::vector<std::string> Validate(const json& root_schema, const json& value) {
  Validator validator(root_schema);
  validator.Check(root_schema, value, "");
  return validator.faults;
}

}  // namespace trainctl::job
