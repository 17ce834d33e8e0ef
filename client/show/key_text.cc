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

std::string FieldText(const job::Field& field) {
  const std::optional<job::JsonNode> value = job::DefaultOf(field);
  return field.key + ": " + field.doc + "\n" + "Values: " + field.expected + ".\n" +
         (value ? "Default: " + job::WriteJson(*value) + "." : "It has to be given.") + "\n";
}

std::string SectionText(const job::Section& section) {
  return section.key + ": " + section.doc + "\nKeys: " + Join(KeysWithin(section), ", ") + ".\n";
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
  if (field == nullptr)
    return {{"key", key},
            {"text", job::FindSection(key)->doc},
            {"values", nullptr},
            {"default", nullptr}};
  const std::optional<job::JsonNode> value = job::DefaultOf(*field);
  return {{"key", key},
          {"text", field->doc},
          {"values", field->expected},
          {"default", value ? record::Json(job::WriteJson(*value)) : nullptr}};
}

std::string KeyText(const std::string& key) {
  const job::Field* field = job::FindField(key);
  return WrapLines(field != nullptr ? FieldText(*field) : SectionText(*job::FindSection(key)),
                   kWidth);
}

}  // namespace trainctl::client
