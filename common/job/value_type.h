// The kinds of value that a key of the job file takes. Each kind has
//   Value                         the C++ type it reads into
//   Read(node)   → optional       nullopt where the node is of another type or out of range
//   Write(value) → JsonNode       the canonical spelling; Read gives the value back
//   Expected()                    in words, for problems: "a positive integer"
//   Schema()                      the same as JSON Schema
//   Hint(node)                    optional: what would help
//   Typed(text)                   optional: what a text stands for that is typed without JSON
// Pure values, thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/did_you_mean.h"
#include "common/json/json_node.h"

namespace trainctl::job {

struct BoolType {
  using Value = bool;
  std::optional<bool> Read(const JsonNode& node) const;
  JsonNode Write(bool value) const { return value; }
  std::string Expected() const { return "true or false"; }
  JsonNode Schema() const;
};

// Integers from min to max. 8.0 is one too, as in JSON Schema.
struct IntegerType {
  using Value = int64_t;
  int64_t min = std::numeric_limits<int64_t>::min();
  int64_t max = std::numeric_limits<int64_t>::max();
  std::optional<int64_t> Read(const JsonNode& node) const;
  JsonNode Write(int64_t value) const { return value; }
  std::string Expected() const;
  JsonNode Schema() const;
};

// Finite numbers within bounds; an open bound is not a value itself.
struct RealType {
  using Value = double;
  double min = 0;
  double max = std::numeric_limits<double>::infinity();
  bool min_is_open = false;
  bool max_is_open = false;
  std::optional<double> Read(const JsonNode& node) const;
  JsonNode Write(double value) const { return value; }
  std::string Expected() const;
  JsonNode Schema() const;
};

struct TextType {
  using Value = std::string;
  std::string_view what = "a string";
  size_t min_bytes = 0;
  size_t max_bytes = 65'536;
  std::optional<std::string> Read(const JsonNode& node) const;
  JsonNode Write(const std::string& value) const { return value; }
  std::string Expected() const { return std::string(what); }
  JsonNode Schema() const;
  std::string Hint(const JsonNode& node) const;  // of a text that is too long
};

// One of the names of an enumeration; aliases are read but never written.
template <class Enum>
struct NameType {
  using Value = Enum;
  std::vector<std::pair<std::string_view, Enum>> names;
  std::vector<std::pair<std::string_view, Enum>> aliases = {};

  std::optional<Enum> Read(const JsonNode& node) const {
    if (!node.Is(JsonNode::Type::kString)) return std::nullopt;
    for (const auto* list : {&names, &aliases}) {
      for (const auto& [name, value] : *list) {
        if (name == node.text) return value;
      }
    }
    return std::nullopt;
  }
  JsonNode Write(Enum value) const {
    for (const auto& [name, named] : names) {
      if (named == value) return name;
    }
    return {};
  }
  std::string Expected() const {
    std::string text;
    for (size_t i = 0; i < names.size(); ++i) {
      if (i > 0) text += i + 1 == names.size() ? " or " : ", ";
      text += '"' + std::string(names[i].first) + '"';
    }
    return text;
  }
  JsonNode Schema() const {
    JsonNode spellings = JsonNode::Array();
    for (const auto* list : {&names, &aliases}) {
      for (const auto& [name, value] : *list) spellings.Append(name);
    }
    return JsonNode::Object().Add("enum", std::move(spellings));
  }
  std::string Hint(const JsonNode& node) const {
    std::vector<std::string_view> spellings;
    for (const auto& [name, value] : names) spellings.push_back(name);
    return base::DidYouMean(node.text, spellings);
  }
};

// "80GB", "40GiB" (common/base/size.h): bytes, at least min. The unit is required: nobody could
// tell what 80 was meant to be.
struct BytesType {
  using Value = int64_t;
  int64_t min = 1;
  std::optional<int64_t> Read(const JsonNode& node) const;
  JsonNode Write(int64_t value) const;
  std::string Expected() const;
  JsonNode Schema() const;
};

// "2h", "10min" (common/base/size.h): seconds, at least one.
struct DurationType {
  using Value = int64_t;
  std::optional<int64_t> Read(const JsonNode& node) const;
  JsonNode Write(int64_t value) const;
  std::string Expected() const { return "a duration such as \"90s\", \"10min\" or \"1h 30min\""; }
  JsonNode Schema() const;
};

// false = 0, true = 1, n = every n-th.
struct EveryNthType {
  using Value = int64_t;
  std::optional<int64_t> Read(const JsonNode& node) const;
  JsonNode Write(int64_t value) const;
  std::string Expected() const { return "false, true, or n for every n-th block"; }
  JsonNode Schema() const;
};

struct RealPairType {
  using Value = std::array<double, 2>;
  RealType each;
  std::optional<Value> Read(const JsonNode& node) const;
  JsonNode Write(const Value& value) const;
  std::string Expected() const { return "a list of two: " + each.Expected(); }
  JsonNode Schema() const;
};

// A list of some of the allowed words, each at most once; aliases are read but never written.
struct WordsType {
  using Value = std::vector<std::string>;
  std::vector<std::string_view> allowed;
  std::vector<std::pair<std::string_view, std::string_view>> aliases = {};  // "q_proj" of "q"
  std::optional<Value> Read(const JsonNode& node) const;
  JsonNode Write(const Value& value) const;
  std::string Expected() const;
  JsonNode Schema() const;
  std::string Hint(const JsonNode& node) const;   // of the first word that is not allowed
  JsonNode Typed(const std::string& text) const;  // "q,k,v"

 private:
  std::string Meant(const std::string& word) const;  // of an alias its word
};

// A list of texts: at most `most`, each of that type.
struct TextsType {
  using Value = std::vector<std::string>;
  TextType each;
  size_t most = 64;
  bool prose = false;  // a typed text is one, whatever commas are in it
  std::optional<Value> Read(const JsonNode& node) const;
  JsonNode Write(const Value& value) const;
  std::string Expected() const;
  JsonNode Schema() const;
  JsonNode Typed(const std::string& text) const;  // "a.jpg,b.jpg"
};

// An object of strings with keys of the user's own: at most 64.
struct TextMapType {
  using Value = std::map<std::string, std::string>;
  std::optional<Value> Read(const JsonNode& node) const;
  JsonNode Write(const Value& value) const;
  std::string Expected() const { return "an object of strings"; }
  JsonNode Schema() const;
};

// The inner kind, or one word that stands for nullopt.
template <class Inner>
struct OrWord {
  using Value = std::optional<typename Inner::Value>;
  Inner inner;
  JsonNode word;  // null or a string

  std::optional<Value> Read(const JsonNode& node) const {
    if (node.type == word.type && node.text == word.text) return Value();
    std::optional<typename Inner::Value> value = inner.Read(node);
    if (!value) return std::nullopt;
    return Value(std::move(value));
  }
  JsonNode Write(const Value& value) const { return value ? inner.Write(*value) : word; }
  std::string Expected() const {
    return inner.Expected() + " or " +
           (word.Is(JsonNode::Type::kNull) ? "null" : '"' + word.text + '"');
  }
  JsonNode Schema() const {
    return JsonNode::Object().Add(
        "anyOf",
        JsonNode::Array().Append(inner.Schema()).Append(JsonNode::Object().Add("const", word)));
  }
  std::string Hint(const JsonNode& node) const {
    if constexpr (requires { inner.Hint(node); }) return inner.Hint(node);
    return "";
  }
};

template <class Inner>
OrWord<Inner> OrNull(Inner inner) {
  return {std::move(inner), JsonNode()};
}

template <class Inner>
OrWord<Inner> OrAuto(Inner inner) {
  return {std::move(inner), "auto"};
}

}  // namespace trainctl::job
