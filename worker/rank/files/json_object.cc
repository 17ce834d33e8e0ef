#include "worker/rank/files/json_object.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "common/base/utf8.h"

namespace trainctl::files {
namespace {

using nlohmann::json;

constexpr size_t kShownBytes = 120;

// Short enough for a message, cut between characters.
std::string Shown(const json& value) {
  const std::string text =
      value.dump(-1, ' ', /*ensure_ascii=*/false, json::error_handler_t::replace);
  if (text.size() <= kShownBytes) return text;
  return std::string(base::WholeCharacters(text, kShownBytes)).append("…");
}

const json& EmptyObject() {
  static const json empty = json::object();
  return empty;
}

}  // namespace

JsonObject::JsonObject(const json& value, std::string path, Fault* fault)
    : value_(&value), path_(std::move(path)), fault_(fault) {
  if (value.is_object()) return;
  Fail(Shown(value) + ": expected an object");
  value_ = &EmptyObject();
}

const json* JsonObject::Get(const std::string& key) const {
  const auto found = value_->find(key);
  return found == value_->end() || found->is_null() ? nullptr : &*found;
}

bool JsonObject::Has(const std::string& key) const { return value_->contains(key); }

std::vector<std::string> JsonObject::Keys() const {
  std::vector<std::string> keys;
  for (auto entry = value_->begin(); entry != value_->end(); ++entry) keys.push_back(entry.key());
  return keys;
}

bool JsonObject::Flag(const std::string& key, std::optional<bool> absent) const {
  const json* value = Get(key);
  if (value != nullptr && value->is_boolean()) return value->get<bool>();
  if (value != nullptr || !absent) Expected(key, "true or false");
  return absent.value_or(false);
}

int64_t JsonObject::Integer(const std::string& key, int64_t min, int64_t max,
                            std::optional<int64_t> absent) const {
  const json* value = Get(key);
  if (value != nullptr && value->is_number_integer()) {
    const bool fits = !value->is_number_unsigned() || value->get<uint64_t>() <= uint64_t{INT64_MAX};
    if (fits && value->get<int64_t>() >= min && value->get<int64_t>() <= max)
      return value->get<int64_t>();
  }
  if (value != nullptr || !absent)
    Expected(key, "an integer from " + std::to_string(min) + " to " + std::to_string(max));
  return absent.value_or(min);
}

double JsonObject::Positive(const std::string& key, std::optional<double> absent) const {
  const json* value = Get(key);
  const double number = value != nullptr && value->is_number() ? value->get<double>() : 0;
  if (number > 0 && std::isfinite(number)) return number;
  if (value != nullptr || !absent) Expected(key, "a positive number");
  return absent.value_or(1);
}

std::string JsonObject::Text(const std::string& key, std::optional<std::string> absent) const {
  const json* value = Get(key);
  if (value != nullptr && value->is_string()) return value->get<std::string>();
  if (value != nullptr || !absent) Expected(key, "a string");
  return absent.value_or("");
}

JsonObject JsonObject::Object(const std::string& key) const {
  const json* value = Get(key);
  if (value == nullptr) Expected(key, "an object");
  return JsonObject(value == nullptr ? EmptyObject() : *value, PathOf(key), fault_);
}

std::vector<JsonObject> JsonObject::Objects(const std::string& key) const {
  std::vector<JsonObject> objects;
  const json* value = Get(key);
  if (value == nullptr) return objects;
  if (!value->is_array()) Expected(key, "a list");
  for (size_t i = 0; value->is_array() && i < value->size(); ++i) {
    objects.emplace_back((*value)[i], PathOf(key) + "[" + std::to_string(i) + "]", fault_);
  }
  return objects;
}

void JsonObject::Only(const std::string& key, const json& supported) const {
  const json* value = Get(key);
  if (value != nullptr && *value != supported)
    Expected(key, supported.dump() + "; anything else is not yet supported");
}

void JsonObject::Expected(const std::string& key, const std::string& expected) const {
  const auto found = value_->find(key);
  const std::string value = found == value_->end() ? "missing" : Shown(*found);
  if (!failed())
    *fault_ =
        base::Error{base::Code::kInvalid, PathOf(key) + ": " + value + ": expected " + expected};
}

void JsonObject::Fail(const std::string& message) const {
  if (failed()) return;
  const std::string path = path_.ends_with(": ") ? path_.substr(0, path_.size() - 2) : path_;
  *fault_ = base::Error{base::Code::kInvalid, path + ": " + message};
}

}  // namespace trainctl::files
