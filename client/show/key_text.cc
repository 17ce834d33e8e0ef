#include "client/show/key_text.h"

#include "client/show/format.h"
#include "common/job/schema.h"
#include "common/json/write_json.h"

namespace trainctl::client {
namespace {

constexpr int kWidth = 100;

std::vector<std::string> KeysWithin(const job::Section& section) {
  std::vector<std::string> keys;
  for (const job::Field& field : job::Fields()) {
    if (job::SectionOf(field.key) == &section) keys.push_back(field.key);
  }
  return keys;
}

}  // namespace

std::vector<std::string> KeysMeant(std::string_view word) {
  if (const job::Field* map = job::FindMapOfEntry(word)) return {map->key};
  std::vector<std::string> keys;
  if (job::FindSection(word) != nullptr) keys.emplace_back(word);
  for (const job::Field& field : job::Fields()) {
    if (field.key == word || job::LastPart(field.key) == word) keys.push_back(field.key);
  }
  return keys;
}

record::Json KeyRecord(const std::string& key) {
  const job::Field* field = job::FindField(key);
  if (field == nullptr) {
    const job::Section& section = *job::FindSection(key);
    return {{"key", key},
            {"text", section.doc},
            {"values", nullptr},
            {"default", nullptr},
            {"keys", KeysWithin(section)}};
  }
  const std::optional<job::JsonNode> value = job::DefaultOf(*field);
  return {{"key", key},
          {"text", field->doc},
          {"values", field->expected},
          {"default", value ? record::Json(job::WriteJson(*value)) : nullptr},
          {"keys", nullptr}};
}

std::string KeyText(const record::Json& key) {
  const auto text = [&](const char* member) { return key[member].get<std::string>(); };
  std::string told = text("key") + ": " + text("text") + "\n";
  if (!key["keys"].is_null()) {
    told += "Keys: " + Join(key["keys"].get<std::vector<std::string>>(), ", ") + ".\n";
  } else {
    told +=
        "Values: " + text("values") + ".\n" +
        (key["default"].is_null() ? "It has to be given." : "Default: " + text("default") + ".") +
        "\n";
  }
  return WrapLines(told, kWidth);
}

}  // namespace trainctl::client
