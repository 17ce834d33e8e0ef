#include "common/job/json_fields.h"

#include <limits>

#include "common/job/problem.h"
#include "common/job/read_json.h"

namespace trainctl::job {
namespace {

using Type = JsonNode::Type;

// A message may carry many metric points, or the last lines of a log.
constexpr JsonLimits kMessageLimits = {.max_bytes = size_t{16} << 20};

std::optional<double> NonFinite(const JsonNode& node) {
  if (!node.Is(Type::kString)) return std::nullopt;
  if (node.text == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (node.text == "Infinity") return std::numeric_limits<double>::infinity();
  if (node.text == "-Infinity") return -std::numeric_limits<double>::infinity();
  return std::nullopt;
}

}  // namespace

JsonFields::JsonFields(const JsonNode& object, std::string path, std::string* fault)
    : object_(&object), path_(std::move(path)), fault_(fault) {
  if (!object.Is(Type::kObject) && fault_->empty()) *fault_ = (path_.empty() ? "" : path_ + ": ") + "expected an object";
}

std::string JsonFields::PathOf(std::string_view key) const { return path_.empty() ? std::string(key) : path_ + "." + std::string(key); }

void JsonFields::Fail(std::string_view key, std::string_view what) {
  if (fault_->empty()) *fault_ = PathOf(key) + ": " + std::string(what);
}

bool JsonFields::IsPresent(std::string_view key) const {
  const JsonNode* node = object_->Find(key);
  return fault_->empty() && node != nullptr && !node->Is(Type::kNull);
}

const JsonNode* JsonFields::Require(std::string_view key) {
  if (!fault_->empty()) return nullptr;
  const JsonNode* node = object_->Find(key);
  if (node == nullptr) Fail(key, "missing");
  return node;
}

const JsonNode* JsonFields::RequireArray(std::string_view key) {
  const JsonNode* node = Require(key);
  if (node == nullptr || node->Is(Type::kArray)) return node;
  Fail(key, "expected an array");
  return nullptr;
}

void JsonFields::Read(std::string_view key, bool& value) {
  const JsonNode* node = Require(key);
  if (node == nullptr) return;
  if (node->Is(Type::kBool)) value = node->boolean;
  else Fail(key, "expected true or false");
}

void JsonFields::Read(std::string_view key, int64_t& value) {
  const JsonNode* node = Require(key);
  if (node == nullptr) return;
  if (node->Is(Type::kInteger)) value = node->integer;
  else Fail(key, "expected an integer");
}

void JsonFields::Read(std::string_view key, double& value) {
  const JsonNode* node = Require(key);
  if (node == nullptr) return;
  if (node->Is(Type::kReal)) value = node->real;
  else if (node->Is(Type::kInteger)) value = static_cast<double>(node->integer);
  else if (const auto special = NonFinite(*node)) value = *special;
  else Fail(key, "expected a number");
}

void JsonFields::Read(std::string_view key, std::string& value) {
  const JsonNode* node = Require(key);
  if (node == nullptr) return;
  if (node->Is(Type::kString)) value = node->text;
  else Fail(key, "expected a string");
}

std::optional<JsonNode> ReadRoot(std::string_view text, std::string* fault) {
  JsonText json = ReadJson(text, kMessageLimits);
  if (json.problems.empty()) return std::move(json.root);
  const Problem& problem = json.problems.front();
  *fault = problem.path + ": expected " + problem.expected + (problem.hint.empty() ? "" : "; " + problem.hint);
  return std::nullopt;
}

}  // namespace trainctl::job
