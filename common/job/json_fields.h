// The members of machine-written JSON objects (messages, plans, predictions, manifests), listed
// once and used both ways: a list is a function of (fields, value), and fields is a FieldReader or
// a FieldWriter. Members are written in the list's order.
//
//   constexpr auto kSavedFields = [](auto& fields, auto& saved) {
//     fields.Member("kind", saved.kind);
//     fields.MemberOrDefault("bytes", saved.bytes);
//   };
//
// Unknown members are skipped, so that a newer writer does not break an older reader. The first
// fault is kept and names its key; after it the reads leave their targets alone. Not thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/result.h"
#include "common/job/job.h"
#include "common/json/json_node.h"

namespace trainctl::job {

class FieldReader {
 public:
  // object and fault outlive this. A node that is no object is a fault.
  FieldReader(const JsonNode& object, std::string path, std::string* fault);

  // A required member.
  void Member(std::string_view key, bool& value);
  void Member(std::string_view key, int64_t& value);
  void Member(std::string_view key, double& value);  // "NaN", "Infinity", "-Infinity" too
  void Member(std::string_view key, std::string& value);
  void Member(std::string_view key, std::vector<std::string>& values);
  void Member(std::string_view key, std::vector<int64_t>& values);
  void Member(std::string_view key, JobSpec& job);  // in its canonical form

  // null where there is no value; it may be absent too.
  template <class T>
  void Member(std::string_view key, std::optional<T>& value) {
    value.reset();
    if (!IsPresent(key)) return;
    Member(key, value.emplace());
  }

  // A member that may be absent, as older writers leave it: the target keeps its value.
  template <class T>
  void MemberOrDefault(std::string_view key, T& value) {
    if (IsPresent(key)) Member(key, value);
  }
  // As well; and not written either where it is its type's default: empty, zero, no value.
  template <class T>
  void MemberIfAny(std::string_view key, T& value) {
    MemberOrDefault(key, value);
  }

  // An integer from least to most.
  void Within(std::string_view key, int64_t& value, int64_t least, int64_t most);

  // A name of an enumeration, by its Parse function.
  template <class T>
  void Named(std::string_view key, T& value, std::optional<T> (*parse)(std::string_view)) {
    std::string name;
    Member(key, name);
    if (!fault_->empty()) return;
    const std::optional<T> parsed = parse(name);
    if (parsed)
      value = *parsed;
    else
      Fail(key, "'" + name + "' is not known");
  }

  // As well; it may be absent, as older writers leave it: the target keeps its value.
  template <class T>
  void NamedOrDefault(std::string_view key, T& value, std::optional<T> (*parse)(std::string_view)) {
    if (IsPresent(key)) Named(key, value, parse);
  }
  // As well; absent where there is none.
  template <class T>
  void NamedIfAny(std::string_view key, std::optional<T>& value,
                  std::optional<T> (*parse)(std::string_view)) {
    value.reset();
    if (IsPresent(key)) Named(key, value.emplace(), parse);
  }

  // An object, by the list of its members.
  template <class T, class List>
  void Object(std::string_view key, T& value, const List& list) {
    const JsonNode* node = Require(key);
    if (node == nullptr) return;
    FieldReader fields(*node, PathOf(key), fault_);
    list(fields, value);
  }
  template <class T, class List>
  void Object(std::string_view key, std::optional<T>& value, const List& list) {
    value.reset();
    if (IsPresent(key)) Object(key, value.emplace(), list);
  }
  template <class T, class List>
  void ObjectIfAny(std::string_view key, std::optional<T>& value, const List& list) {
    Object(key, value, list);
  }

  // An array of objects.
  template <class T, class List>
  void Objects(std::string_view key, std::vector<T>& values, const List& list) {
    const JsonNode* array = RequireArray(key);
    for (size_t i = 0; array != nullptr && fault_->empty() && i < array->items.size(); ++i) {
      FieldReader fields(array->items[i], PathOf(key) + "[" + std::to_string(i) + "]", fault_);
      list(fields, values.emplace_back());
    }
  }

  // As well; it may be absent, as older writers leave it.
  template <class T, class List>
  void ObjectsIfAny(std::string_view key, std::vector<T>& values, const List& list) {
    if (IsPresent(key)) Objects(key, values, list);
  }

  // What was read is as it must be, else the fault "path.key: what".
  void Expect(std::string_view key, bool holds, std::string_view what) {
    if (!holds) Fail(key, what);
  }

 private:
  bool IsPresent(std::string_view key) const;
  const JsonNode* Require(std::string_view key);
  const JsonNode* RequireArray(std::string_view key);
  std::string PathOf(std::string_view key) const;
  void Fail(std::string_view key, std::string_view what);

  const JsonNode* object_;
  std::string path_;
  std::string* fault_;
};

// FieldReader's members, the other way.
class FieldWriter {
 public:
  template <class T>
  void Member(std::string_view key, const T& value) {
    Add(key, JsonNode(value));
  }
  template <class T>
  void Member(std::string_view key, const std::optional<T>& value) {
    Add(key, value ? JsonNode(*value) : JsonNode());
  }
  void Member(std::string_view key, const std::vector<std::string>& values);
  void Member(std::string_view key, const std::vector<int64_t>& values);
  void Member(std::string_view key, const JobSpec& job);

  template <class T>
  void MemberOrDefault(std::string_view key, const T& value) {
    Member(key, value);
  }
  template <class T>
  void MemberIfAny(std::string_view key, const T& value) {
    if (value != T{}) Member(key, value);
  }

  void Within(std::string_view key, int64_t value, int64_t /*least*/, int64_t /*most*/) {
    Member(key, value);
  }

  template <class T>
  void Named(std::string_view key, const T& value, std::optional<T> (*)(std::string_view)) {
    Add(key, JsonNode(Name(value)));
  }
  template <class T>
  void NamedOrDefault(std::string_view key, const T& value,
                      std::optional<T> (*parse)(std::string_view)) {
    Named(key, value, parse);
  }
  template <class T>
  void NamedIfAny(std::string_view key, const std::optional<T>& value,
                  std::optional<T> (*parse)(std::string_view)) {
    if (value) Named(key, *value, parse);
  }

  template <class T, class List>
  void Object(std::string_view key, const T& value, const List& list) {
    FieldWriter fields;
    list(fields, value);
    Add(key, std::move(fields.node_));
  }
  template <class T, class List>
  void Object(std::string_view key, const std::optional<T>& value, const List& list) {
    if (value)
      Object(key, *value, list);
    else
      Add(key, JsonNode());
  }
  template <class T, class List>
  void ObjectIfAny(std::string_view key, const std::optional<T>& value, const List& list) {
    if (value) Object(key, *value, list);
  }

  template <class T, class List>
  void Objects(std::string_view key, const std::vector<T>& values, const List& list) {
    JsonNode array = JsonNode::Array();
    for (const T& value : values) {
      FieldWriter fields;
      list(fields, value);
      array.Append(std::move(fields.node_));
    }
    Add(key, std::move(array));
  }

  template <class T, class List>
  void ObjectsIfAny(std::string_view key, const std::vector<T>& values, const List& list) {
    if (!values.empty()) Objects(key, values, list);
  }

  void Expect(std::string_view, bool, std::string_view) {}

  JsonNode Take() && { return std::move(node_); }

 private:
  void Add(std::string_view key, JsonNode value) { node_.Add(std::string(key), std::move(value)); }

  JsonNode node_ = JsonNode::Object();
};

// The root of a machine-written text (up to 16 MiB), or a fault.
std::optional<JsonNode> ReadRoot(std::string_view text, std::string* fault);

// The text as a JSON object of the list's members. kInvalid: "rank message: memory.params: expected
// an integer".
template <class T, class List>
base::Result<T> ReadFields(std::string_view text, std::string_view what, const List& list) {
  std::string fault;
  T value{};
  if (const std::optional<JsonNode> root = ReadRoot(text, &fault)) {
    FieldReader fields(*root, "", &fault);
    list(fields, value);
  }
  if (!fault.empty()) return base::Error{base::Code::kInvalid, std::string(what) + ": " + fault};
  return value;
}

// The value as an object of the list's members.
template <class T, class List>
JsonNode WriteFields(const T& value, const List& list) {
  FieldWriter fields;
  list(fields, value);
  return std::move(fields).Take();
}

}  // namespace trainctl::job
