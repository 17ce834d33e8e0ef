// Reading the keys of a JSON object of which every mistake must be named. All objects of one
// document share the first fault that is found; after it each read gives its default. So a reader
// is written straight down and asks once, at its end.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "common/base/result.h"

namespace trainctl::files {

using Fault = std::optional<base::Error>;

class JsonObject {
 public:
  // path stands in messages: "tokenizer.json: model". A value that is not an object is the first
  // fault, and has no keys.
  JsonObject(const nlohmann::json& value, std::string path, Fault* fault);

  // nullptr: absent, or null.
  const nlohmann::json* Get(const std::string& key) const;
  bool Has(const std::string& key) const;  // also true of null
  std::vector<std::string> Keys() const;

  // Absent or null: the default; without a default, a fault.
  bool Flag(const std::string& key, std::optional<bool> absent = std::nullopt) const;
  int64_t Integer(const std::string& key, int64_t min, int64_t max,
                  std::optional<int64_t> absent = std::nullopt) const;
  double Positive(const std::string& key, std::optional<double> absent = std::nullopt) const;
  std::string Text(const std::string& key, std::optional<std::string> absent = std::nullopt) const;
  // A missing object is a fault; a missing list of objects is empty.
  JsonObject Object(const std::string& key) const;
  std::vector<JsonObject> Objects(const std::string& key) const;

  // A key that may be absent or null, and otherwise must have this value: what is supported.
  void Only(const std::string& key, const nlohmann::json& supported) const;

  // The key's value is not what was expected: "<path>.<key>: <value>: expected <expected>".
  void Expected(const std::string& key, const std::string& expected) const;
  // Something else is wrong: "<path>: <message>".
  void Fail(const std::string& message) const;
  bool failed() const { return fault_->has_value(); }

 private:
  std::string PathOf(const std::string& key) const {
    return path_ + (path_.ends_with(": ") ? "" : ".") + key;
  }

  const nlohmann::json* value_;
  std::string path_;
  Fault* fault_;
};

}  // namespace trainctl::files
