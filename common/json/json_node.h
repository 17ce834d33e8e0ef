// A JSON value that knows its line. What read_json.h reads and write_json.h writes; nothing here
// knows a JSON library. Values: thread-safe.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace trainctl::job {

struct JsonNode {
  enum class Type { kNull, kBool, kInteger, kReal, kString, kArray, kObject };

  JsonNode() = default;
  JsonNode(std::same_as<bool> auto value) : type(Type::kBool), boolean(value) {}
  JsonNode(int64_t value) : type(Type::kInteger), integer(value) {}
  JsonNode(double value) : type(Type::kReal), real(value) {}
  JsonNode(std::string value) : type(Type::kString), text(std::move(value)) {}
  JsonNode(std::string_view value) : JsonNode(std::string(value)) {}
  JsonNode(const char* value) : JsonNode(std::string(value)) {}
  static JsonNode Array() { return JsonNode(Type::kArray); }
  static JsonNode Object() { return JsonNode(Type::kObject); }

  bool Is(Type wanted) const { return type == wanted; }
  // The member of that name; nullptr where there is none. Of duplicates (which the reader refuses)
  // the first.
  const JsonNode* Find(std::string_view key) const;
  JsonNode* Find(std::string_view key);
  // Append to an object, to an array. Return *this, to be chained.
  JsonNode& Add(std::string key, JsonNode value) &;
  JsonNode&& Add(std::string key, JsonNode value) && {
    return std::move(Add(std::move(key), std::move(value)));
  }
  JsonNode& Append(JsonNode value) &;
  JsonNode&& Append(JsonNode value) && { return std::move(Append(std::move(value))); }

  Type type = Type::kNull;
  bool boolean = false;
  int64_t integer = 0;
  double real = 0;
  std::string text;               // of a string its value, of a real that was read its spelling
  std::vector<std::string> keys;  // of an object, in the file's order; items has their values
  std::vector<JsonNode> items;    // of an object or array
  int line = 0;  // where the value ends or its bracket opens, from 1; 0: not read from a file

 private:
  explicit JsonNode(Type of_type) : type(of_type) {}
};

}  // namespace trainctl::job
