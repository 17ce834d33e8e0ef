// Reads the members of machine-written JSON objects (messages, plans, predictions) into structs. Unknown members are skipped, so that a
// newer writer does not break an older reader. The first fault is kept and names its key; after it the reads leave their targets alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/result.h"
#include "common/job/json_node.h"

namespace trainctl::job {

class JsonFields {
 public:
  // object and fault outlive this. A node that is no object is a fault.
  JsonFields(const JsonNode& object, std::string path, std::string* fault);

  // A required member.
  void Read(std::string_view key, bool& value);
  void Read(std::string_view key, int64_t& value);
  void Read(std::string_view key, double& value);  // "NaN", "Infinity", "-Infinity" too
  void Read(std::string_view key, std::string& value);

  // A member that may be null or absent.
  template <class T>
  void Read(std::string_view key, std::optional<T>& value) {
    value.reset();
    if (!IsPresent(key)) return;
    Read(key, value.emplace());
  }

  // A member that may be absent: the target keeps its value.
  template <class T>
  void ReadIfPresent(std::string_view key, T& value) {
    if (IsPresent(key)) Read(key, value);
  }

  // A name of an enumeration, by its Parse function.
  template <class T>
  void ReadName(std::string_view key, T& value, std::optional<T> (*parse)(std::string_view)) {
    std::string name;
    Read(key, name);
    if (!fault_->empty()) return;
    const std::optional<T> parsed = parse(name);
    if (parsed) value = *parsed;
    else Fail(key, "'" + name + "' is not known");
  }

  // An object, by a function that reads its fields.
  template <class T>
  void ReadObject(std::string_view key, T& value, void (*read)(JsonFields&, T&)) {
    const JsonNode* node = Require(key);
    if (node == nullptr) return;
    JsonFields fields(*node, PathOf(key), fault_);
    read(fields, value);
  }
  template <class T>
  void ReadObject(std::string_view key, std::optional<T>& value, void (*read)(JsonFields&, T&)) {
    value.reset();
    if (IsPresent(key)) ReadObject(key, value.emplace(), read);
  }

  // An array of objects.
  template <class T>
  void ReadList(std::string_view key, std::vector<T>& values, void (*read)(JsonFields&, T&)) {
    const JsonNode* array = RequireArray(key);
    for (size_t i = 0; array != nullptr && fault_->empty() && i < array->items.size(); ++i) {
      JsonFields fields(array->items[i], PathOf(key) + "[" + std::to_string(i) + "]", fault_);
      read(fields, values.emplace_back());
    }
  }

  // The member as it is; nullptr, and a fault, where it is absent.
  const JsonNode* Require(std::string_view key);

  // Keeps the fault "path.key: what", if it is the first.
  void Fail(std::string_view key, std::string_view what);

 private:
  bool IsPresent(std::string_view key) const;
  const JsonNode* RequireArray(std::string_view key);
  std::string PathOf(std::string_view key) const;

  const JsonNode* object_;
  std::string path_;
  std::string* fault_;
};

// The root of a machine-written text (up to 16 MiB), or a fault.
std::optional<JsonNode> ReadRoot(std::string_view text, std::string* fault);

// The text as a JSON object, read by `read`. kInvalid: "rank message: memory.params: expected an integer".
template <class T>
base::Result<T> ReadFields(std::string_view text, std::string_view what, void (*read)(JsonFields&, T&)) {
  std::string fault;
  T value{};
  if (const std::optional<JsonNode> root = ReadRoot(text, &fault)) {
    JsonFields fields(*root, "", &fault);
    read(fields, value);
  }
  if (!fault.empty()) return base::Error{base::Code::kInvalid, std::string(what) + ": " + fault};
  return value;
}

}  // namespace trainctl::job
