#include "common/job/value_type.h"

#include <algorithm>
#include <cmath>

#include "common/base/size.h"
#include "common/json/write_json.h"

namespace trainctl::job {
namespace {

using Type = JsonNode::Type;

constexpr int64_t kUnbounded = std::numeric_limits<int64_t>::max();
constexpr double kLargestExactInteger = 9007199254740992.0;  // 2^53
constexpr size_t kMapEntries = 64;
constexpr IntegerType kEveryNth = {.min = 0, .max = 1'000'000};

JsonNode TypeSchema(std::string_view type) { return JsonNode::Object().Add("type", type); }

JsonNode PatternSchema(std::string_view pattern) {
  return TypeSchema("string").Add("pattern", pattern);
}

// "q,k" → ["q", "k"]; of an empty text no part.
JsonNode Parts(const std::string& text) {
  JsonNode parts = JsonNode::Array();
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    parts.Append(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

// A bound, in words.
std::string Spell(double value) {
  return value == std::floor(value) ? WriteJson(JsonNode(static_cast<int64_t>(value)))
                                    : WriteJson(JsonNode(value));
}

}  // namespace

std::optional<bool> BoolType::Read(const JsonNode& node) const {
  if (!node.Is(Type::kBool)) return std::nullopt;
  return node.boolean;
}

JsonNode BoolType::Schema() const { return TypeSchema("boolean"); }

std::optional<int64_t> IntegerType::Read(const JsonNode& node) const {
  int64_t value = node.integer;
  if (node.Is(Type::kReal)) {
    if (node.real != std::floor(node.real) || std::abs(node.real) > kLargestExactInteger)
      return std::nullopt;
    value = static_cast<int64_t>(node.real);
  } else if (!node.Is(Type::kInteger)) {
    return std::nullopt;
  }
  if (value < min || value > max) return std::nullopt;
  return value;
}

std::string IntegerType::Expected() const {
  if (min == max) return std::to_string(min);
  if (max == kUnbounded)
    return min == 1 ? "a positive integer" : "an integer from " + std::to_string(min);
  return "an integer from " + std::to_string(min) + " to " + std::to_string(max);
}

JsonNode IntegerType::Schema() const {
  JsonNode schema = TypeSchema("integer").Add("minimum", min);
  if (max != kUnbounded) schema.Add("maximum", max);
  return schema;
}

std::optional<double> RealType::Read(const JsonNode& node) const {
  if (!node.Is(Type::kReal) && !node.Is(Type::kInteger)) return std::nullopt;
  const double value = node.Is(Type::kReal) ? node.real : static_cast<double>(node.integer);
  const bool above = min_is_open ? value > min : value >= min;
  const bool below = max_is_open ? value < max : value <= max;
  if (!above || !below || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::string RealType::Expected() const {
  const std::string from = (min_is_open ? "a number above " : "a number from ") + Spell(min);
  if (std::isinf(max)) return from;
  return from + (max_is_open ? " to below " : " to ") + Spell(max);
}

JsonNode RealType::Schema() const {
  JsonNode schema = TypeSchema("number").Add(min_is_open ? "exclusiveMinimum" : "minimum", min);
  if (!std::isinf(max)) schema.Add(max_is_open ? "exclusiveMaximum" : "maximum", max);
  return schema;
}

std::optional<std::string> TextType::Read(const JsonNode& node) const {
  if (!node.Is(Type::kString) || node.text.size() < min_bytes || node.text.size() > max_bytes)
    return std::nullopt;
  if (node.text.find('\0') != std::string::npos) return std::nullopt;
  return node.text;
}

JsonNode TextType::Schema() const {
  JsonNode schema = TypeSchema("string");
  if (min_bytes > 0) schema.Add("minLength", static_cast<int64_t>(min_bytes));
  return schema.Add("maxLength", static_cast<int64_t>(max_bytes));
}

std::string TextType::Hint(const JsonNode& node) const {
  if (!node.Is(Type::kString) || node.text.size() <= max_bytes) return "";
  return "it is too long: " + std::to_string(node.text.size()) + " bytes, at most " +
         std::to_string(max_bytes) + " are allowed";
}

std::optional<int64_t> BytesType::Read(const JsonNode& node) const {
  const bool has_unit = node.Is(Type::kString) && !node.text.empty() && node.text.back() == 'B';
  if (!has_unit) return std::nullopt;
  const auto bytes = base::ParseBytes(node.text);
  return bytes && *bytes >= min ? bytes : std::nullopt;
}

JsonNode BytesType::Write(int64_t value) const { return base::SpellBytes(value); }

std::string BytesType::Expected() const {
  return "a size such as \"80GB\" or \"40GiB\", at least " + base::SpellBytes(min);
}

JsonNode BytesType::Schema() const {
  return PatternSchema("^[0-9]+(\\.[0-9]+)? ?([kKMGT]B|[KMGT]iB|B)$");
}

std::optional<int64_t> DurationType::Read(const JsonNode& node) const {
  if (!node.Is(Type::kString)) return std::nullopt;
  const auto seconds = base::ParseDuration(node.text);
  return seconds && *seconds >= 1 ? seconds : std::nullopt;
}

JsonNode DurationType::Write(int64_t value) const { return base::SpellDuration(value); }

JsonNode DurationType::Schema() const {
  return PatternSchema("^([0-9]+d)? ?([0-9]+h)? ?([0-9]+min)? ?([0-9]+s)?$")
      .Add("minLength", int64_t{2});
}

std::optional<int64_t> EveryNthType::Read(const JsonNode& node) const {
  if (node.Is(Type::kBool)) return node.boolean ? 1 : 0;
  return kEveryNth.Read(node);
}

JsonNode EveryNthType::Write(int64_t value) const {
  if (value == 0 || value == 1) return value == 1;
  return value;
}

JsonNode EveryNthType::Schema() const {
  return JsonNode::Object().Add(
      "anyOf", JsonNode::Array().Append(TypeSchema("boolean")).Append(kEveryNth.Schema()));
}

std::optional<RealPairType::Value> RealPairType::Read(const JsonNode& node) const {
  if (!node.Is(Type::kArray) || node.items.size() != 2) return std::nullopt;
  const auto first = each.Read(node.items[0]), second = each.Read(node.items[1]);
  if (!first || !second) return std::nullopt;
  return Value{*first, *second};
}

JsonNode RealPairType::Write(const Value& value) const {
  return JsonNode::Array().Append(value[0]).Append(value[1]);
}

JsonNode RealPairType::Schema() const {
  return TypeSchema("array")
      .Add("items", each.Schema())
      .Add("minItems", int64_t{2})
      .Add("maxItems", int64_t{2});
}

std::string WordsType::Meant(const std::string& word) const {
  for (const auto& [alias, meant] : aliases) {
    if (alias == word) return std::string(meant);
  }
  return word;
}

std::optional<WordsType::Value> WordsType::Read(const JsonNode& node) const {
  if (!node.Is(Type::kArray)) return std::nullopt;
  Value words;
  for (const JsonNode& item : node.items) {
    if (!item.Is(Type::kString)) return std::nullopt;
    const std::string word = Meant(item.text);
    if (std::ranges::find(allowed, word) == allowed.end() ||
        std::ranges::find(words, word) != words.end())
      return std::nullopt;
    words.push_back(word);
  }
  return words;
}

JsonNode WordsType::Write(const Value& value) const {
  JsonNode array = JsonNode::Array();
  for (const std::string& word : value) array.Append(word);
  return array;
}

std::string WordsType::Expected() const {
  std::string text = "a list of some of";
  for (const std::string_view word : allowed) text += " \"" + std::string(word) + '"';
  return text;
}

JsonNode WordsType::Schema() const {
  JsonNode words = JsonNode::Array();
  for (const std::string_view word : allowed) words.Append(word);
  for (const auto& [alias, word] : aliases) words.Append(alias);
  return TypeSchema("array")
      .Add("items", JsonNode::Object().Add("enum", std::move(words)))
      .Add("uniqueItems", true);
}

std::string WordsType::Hint(const JsonNode& node) const {
  std::vector<std::string> words;
  for (const JsonNode& item : node.items) {
    const std::string word = Meant(item.text);
    if (std::ranges::find(allowed, word) == allowed.end())
      return base::DidYouMean(item.text, allowed);
    if (std::ranges::find(words, word) != words.end()) return "'" + word + "' stands twice";
    words.push_back(word);
  }
  return "";
}

JsonNode WordsType::Typed(const std::string& text) const { return Parts(text); }

std::optional<TextsType::Value> TextsType::Read(const JsonNode& node) const {
  if (!node.Is(Type::kArray) || node.items.size() > most) return std::nullopt;
  Value texts;
  for (const JsonNode& item : node.items) {
    std::optional<std::string> text = each.Read(item);
    if (!text) return std::nullopt;
    texts.push_back(std::move(*text));
  }
  return texts;
}

JsonNode TextsType::Write(const Value& value) const {
  JsonNode array = JsonNode::Array();
  for (const std::string& text : value) array.Append(text);
  return array;
}

JsonNode TextsType::Typed(const std::string& text) const {
  return prose ? JsonNode::Array().Append(text) : Parts(text);
}

std::string TextsType::Expected() const {
  return "a list of at most " + std::to_string(most) + " strings, each of at most " +
         std::to_string(each.max_bytes) + " bytes";
}

JsonNode TextsType::Schema() const {
  return TypeSchema("array")
      .Add("items", each.Schema())
      .Add("maxItems", static_cast<int64_t>(most));
}

std::optional<TextMapType::Value> TextMapType::Read(const JsonNode& node) const {
  if (!node.Is(Type::kObject) || node.items.size() > kMapEntries) return std::nullopt;
  Value map;
  for (size_t i = 0; i < node.items.size(); ++i) {
    const auto text = TextType{}.Read(node.items[i]);
    if (!text || node.keys[i].empty()) return std::nullopt;
    map[node.keys[i]] = *text;
  }
  return map;
}

JsonNode TextMapType::Write(const Value& value) const {
  JsonNode object = JsonNode::Object();
  for (const auto& [key, text] : value) object.Add(key, text);
  return object;
}

JsonNode TextMapType::Schema() const {
  JsonNode names = JsonNode::Object().Add("minLength", int64_t{1});
  return TypeSchema("object")
      .Add("additionalProperties", TypeSchema("string"))
      .Add("propertyNames", std::move(names))
      .Add("maxProperties", static_cast<int64_t>(kMapEntries));
}

}  // namespace trainctl::job
