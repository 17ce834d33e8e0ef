#include "common/job/after_type.h"

#include <array>
#include <cstddef>
#include <utility>

namespace trainctl::job {
namespace {

constexpr size_t kMostJobs = 64;
constexpr size_t kLongestId = 128;
constexpr std::array<std::pair<std::string_view, After>, 2> kNames = {
    {{"ok", After::kOk}, {"any", After::kAny}}};

std::optional<After> ParseAfter(std::string_view name) {
  for (const auto& [known, after] : kNames) {
    if (known == name) return after;
  }
  return std::nullopt;
}

bool IsJobWord(std::string_view id) { return !id.empty() && id.size() <= kLongestId; }

// "j12" or "j12:any". A name may have colons of its own.
std::optional<std::pair<std::string, After>> ParseOne(std::string_view text) {
  After after = After::kOk;
  const size_t colon = text.rfind(':');
  if (colon != std::string_view::npos) {
    if (const std::optional<After> said = ParseAfter(text.substr(colon + 1))) {
      after = *said;
      text = text.substr(0, colon);
    }
  }
  if (!IsJobWord(text)) return std::nullopt;
  return std::pair(std::string(text), after);
}

std::optional<AfterType::Value> ReadText(std::string_view text) {
  AfterType::Value value;
  while (true) {
    const size_t comma = text.find(',');
    auto one = ParseOne(text.substr(0, comma));
    if (!one || !value.insert(std::move(*one)).second || value.size() > kMostJobs)
      return std::nullopt;
    if (comma == std::string_view::npos) return value;
    text = text.substr(comma + 1);
  }
}

std::optional<AfterType::Value> ReadObject(const JsonNode& node) {
  if (node.items.size() > kMostJobs) return std::nullopt;
  AfterType::Value value;
  for (size_t i = 0; i < node.items.size(); ++i) {
    const bool is_text = node.items[i].Is(JsonNode::Type::kString);
    const std::optional<After> after = is_text ? ParseAfter(node.items[i].text) : std::nullopt;
    if (!after || !IsJobWord(node.keys[i])) return std::nullopt;
    value[node.keys[i]] = *after;
  }
  return value;
}

}  // namespace

std::string_view Name(After after) { return kNames.at(static_cast<size_t>(after)).first; }

std::optional<AfterType::Value> AfterType::Read(const JsonNode& node) const {
  switch (node.type) {
    case JsonNode::Type::kNull: return Value();
    case JsonNode::Type::kString: return ReadText(node.text);
    case JsonNode::Type::kObject: return ReadObject(node);
    default: return std::nullopt;
  }
}

JsonNode AfterType::Write(const Value& value) const {
  if (value.empty()) return {};
  JsonNode object = JsonNode::Object();
  for (const auto& [id, after] : value) object.Add(id, Name(after));
  return object;
}

std::string AfterType::Expected() const {
  return R"(jobs such as "j12", {"j12": "ok", "j13": "any"} or null)";
}

JsonNode AfterType::Schema() const {
  JsonNode names = JsonNode::Array();
  for (const auto& [name, after] : kNames) names.Append(name);
  JsonNode ids = JsonNode::Object()
                     .Add("minLength", int64_t{1})
                     .Add("maxLength", static_cast<int64_t>(kLongestId));
  JsonNode object =
      JsonNode::Object()
          .Add("type", "object")
          .Add("additionalProperties", JsonNode::Object().Add("enum", std::move(names)))
          .Add("propertyNames", std::move(ids))
          .Add("maxProperties", static_cast<int64_t>(kMostJobs));
  JsonNode text = JsonNode::Object().Add("type", "string").Add("minLength", int64_t{1});
  return JsonNode::Object().Add("anyOf", JsonNode::Array()
                                             .Append(std::move(text))
                                             .Append(std::move(object))
                                             .Append(JsonNode::Object().Add("const", JsonNode())));
}

}  // namespace trainctl::job
