#include "common/job/json_fields.h"

#include <limits>

#include "common/job/job_node.h"
#include "common/json/problem.h"
#include "common/json/read_json.h"

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

FieldReader::FieldReader(const JsonNode& object, std::string path, std::string* fault)
    : object_(&object), path_(std::move(path)), fault_(fault) {
  if (!object.Is(Type::kObject) && fault_->empty())
    *fault_ = (path_.empty() ? "" : path_ + ": ") + "expected an object";
}

std::string FieldReader::PathOf(std::string_view key) const {
  return path_.empty() ? std::string(key) : path_ + "." + std::string(key);
}

void FieldReader::Fail(std::string_view key, std::string_view what) {
  if (fault_->empty()) *fault_ = PathOf(key) + ": " + std::string(what);
}

bool FieldReader::IsPresent(std::string_view key) const {
  const JsonNode* node = object_->Find(key);
  return fault_->empty() && node != nullptr && !node->Is(Type::kNull);
}

const JsonNode* FieldReader::Require(std::string_view key) {
  if (!fault_->empty()) return nullptr;
  const JsonNode* node = object_->Find(key);
  if (node == nullptr) Fail(key, "missing");
  return node;
}

const JsonNode* FieldReader::RequireArray(std::string_view key) {
  const JsonNode* node = Require(key);
  if (node == nullptr || node->Is(Type::kArray)) return node;
  Fail(key, "expected an array");
  return nullptr;
}

void FieldReader::Member(std::string_view key, bool& value) {
  const JsonNode* node = Require(key);
  if (node == nullptr) return;
  if (node->Is(Type::kBool))
    value = node->boolean;
  else
    Fail(key, "expected true or false");
}

void FieldReader::Member(std::string_view key, int64_t& value) {
  const JsonNode* node = Require(key);
  if (node == nullptr) return;
  if (node->Is(Type::kInteger))
    value = node->integer;
  else
    Fail(key, "expected an integer");
}

void FieldReader::Member(std::string_view key, double& value) {
  const JsonNode* node = Require(key);
  if (node == nullptr) return;
  if (node->Is(Type::kReal))
    value = node->real;
  else if (node->Is(Type::kInteger))
    value = static_cast<double>(node->integer);
  else if (const auto special = NonFinite(*node))
    value = *special;
  else
    Fail(key, "expected a number");
}

void FieldReader::Member(std::string_view key, std::string& value) {
  const JsonNode* node = Require(key);
  if (node == nullptr) return;
  if (node->Is(Type::kString))
    value = node->text;
  else
    Fail(key, "expected a string");
}

void FieldReader::Member(std::string_view key, std::vector<std::string>& values) {
  const JsonNode* array = RequireArray(key);
  if (array == nullptr) return;
  for (const JsonNode& item : array->items) {
    if (!item.Is(Type::kString)) return Fail(key, "expected strings");
    values.push_back(item.text);
  }
}

void FieldReader::Member(std::string_view key, std::vector<int64_t>& values) {
  const JsonNode* array = RequireArray(key);
  if (array == nullptr) return;
  values.clear();
  for (const JsonNode& item : array->items) {
    if (!item.Is(Type::kInteger)) return Fail(key, "expected integers");
    values.push_back(item.integer);
  }
}

void FieldReader::Member(std::string_view key, JobSpec& job) {
  const JsonNode* node = Require(key);
  if (node == nullptr) return;
  base::Result<JobSpec> read = FromNode(*node);
  if (read)
    job = std::move(*read);
  else
    Fail(key, read.error().message);
}

void FieldReader::Within(std::string_view key, int64_t& value, int64_t least, int64_t most) {
  Member(key, value);
  if (value >= least && value <= most) return;
  const std::string expected = most == std::numeric_limits<int64_t>::max()
                                   ? "a number from " + std::to_string(least)
                                   : std::to_string(least) + " to " + std::to_string(most);
  Fail(key, std::to_string(value) + ": expected " + expected);
}

void FieldWriter::Member(std::string_view key, const std::vector<std::string>& values) {
  JsonNode array = JsonNode::Array();
  for (const std::string& value : values) array.Append(value);
  Add(key, std::move(array));
}

void FieldWriter::Member(std::string_view key, const std::vector<int64_t>& values) {
  JsonNode array = JsonNode::Array();
  for (const int64_t value : values) array.Append(value);
  Add(key, std::move(array));
}

void FieldWriter::Member(std::string_view key, const JobSpec& job) { Add(key, ToNode(job)); }

std::optional<JsonNode> ReadRoot(std::string_view text, std::string* fault) {
  JsonText json = ReadJson(text, kMessageLimits);
  if (json.problems.empty()) return std::move(json.root);
  const Problem& problem = json.problems.front();
  *fault = problem.path + ": expected " + problem.expected +
           (problem.hint.empty() ? "" : "; " + problem.hint);
  return std::nullopt;
}

}  // namespace trainctl::job
