#include "common/job/bind_job.h"

#include <utility>

#include "common/base/utf8.h"
#include "common/job/schema.h"
#include "common/job/suggest_key.h"
#include "common/json/read_json.h"
#include "common/json/write_json.h"

namespace trainctl::job {
namespace {

using Type = JsonNode::Type;

// An editor finds the published schema by this key; it is no setting.
constexpr std::string_view kSchemaKey = "$schema";

std::string Join(const std::string& path, const std::string& key) {
  return path.empty() ? key : path + "." + key;
}

// A value as it was written, shortened.
std::string Show(const JsonNode& value) {
  const bool has_spelling = value.Is(Type::kReal) && !value.text.empty();
  return base::Excerpt(has_spelling ? value.text : WriteJson(value), kShownValueBytes);
}

// Whether the key takes it.
bool Accepts(const std::string& key, const JsonNode& node) {
  JobSpec scratch;
  const Section* section = SectionOf(key);
  if (section != nullptr && section->nullable()) section->set_present(scratch, true);
  if (const Field* field = FindField(key)) return field->read(node, scratch);
  return FindSection(key) != nullptr || (FindMapOfEntry(key) != nullptr && node.Is(Type::kString));
}

// JSON where the key takes it so, else the text as it is typed. A list is made of text alone: other
// JSON is refused as it is.
JsonNode ValueOfOverride(const Override& override) {
  const JsonText json = ReadJson(override.value);
  const bool is_json = json.problems.empty();
  if (is_json && Accepts(override.key, *json.root)) return *json.root;
  const Field* field = FindField(override.key);
  if (field == nullptr) return JsonNode(override.value);
  const bool is_list = field->typed("").Is(Type::kArray);
  const bool is_text = !is_json || json.root->Is(Type::kString);
  JsonNode typed = field->typed(is_list && is_json && is_text ? json.root->text : override.value);
  // What is wrong in a list is said of the list.
  const bool is_wrong_list =
      is_json && json.root->Is(Type::kArray) && !Accepts(override.key, typed);
  return is_wrong_list || (is_list && !is_text) ? *json.root : typed;
}

}  // namespace

void JobBinder::ApplyObject(const JsonNode& object, const std::string& path, bool dotted,
                            std::vector<Problem>* problems) {
  Layer layer{.dotted = dotted, .problems = problems};
  const Place place{path, object.line};
  places_.try_emplace("", place);
  if (object.Is(Type::kObject)) {
    ApplyMembers("", object, place, layer);
  } else {
    problems->push_back(
        {path.empty() ? "(file)" : path, object.line, Show(object), "an object of settings", ""});
  }
}

void JobBinder::ApplyValue(const std::string& key, const JsonNode& value, const std::string& path,
                           std::vector<Problem>* problems) {
  Layer layer{.problems = problems};
  Apply(key, value, {path, value.line}, layer);
}

void JobBinder::ApplyOverrides(const std::vector<Override>& overrides,
                               std::vector<Problem>* problems) {
  Layer layer{.dotted = true, .problems = problems};
  for (const Override& override : overrides) {
    Apply(override.key, ValueOfOverride(override), {"--set " + override.key, 0}, layer);
  }
}

void JobBinder::ApplyMembers(const std::string& section, const JsonNode& object, const Place& place,
                             Layer& layer) {
  for (size_t i = 0; i < object.items.size(); ++i) {
    const std::string& name = object.keys[i];
    if (section.empty() && name == kSchemaKey) continue;
    const JsonNode& value = object.items[i];
    const Place member{Join(place.path, name), value.line};
    const bool dotted = name.find('.') != std::string::npos;
    if (dotted && !(layer.dotted && section.empty())) {
      Refuse(Join(section, name), member, "unknown key", "nested objects instead of dots", "",
             layer);
    } else {
      Apply(Join(section, name), value, member, layer);
    }
  }
}

void JobBinder::Apply(const std::string& key, const JsonNode& value, const Place& place,
                      Layer& layer) {
  if (const Section* section = FindSection(key)) return ApplySection(*section, value, place, layer);
  if (const Field* field = FindField(key)) return ApplyField(*field, value, place, layer);
  const Field* map = layer.dotted ? FindMapOfEntry(key) : nullptr;
  if (map != nullptr)
    return ApplyMapEntry(*map, key.substr(map->key.size() + 1), value, place, layer);
  const Section* section = SectionOf(key);
  Refuse(key, place, "unknown key",
         section == nullptr ? "a key of a job" : "a key of \"" + section->key + '"',
         SuggestKey(key), layer);
}

void JobBinder::ApplySection(const Section& section, const JsonNode& value, const Place& place,
                             Layer& layer) {
  places_[section.key] = place;
  if (value.Is(Type::kNull) && section.nullable()) return section.set_present(job_, false);
  if (!value.Is(Type::kObject)) {
    return Refuse(section.key, place, Show(value),
                  section.nullable() ? "an object or null" : "an object", "", layer);
  }
  if (section.nullable()) section.set_present(job_, true);
  ApplyMembers(section.key, value, place, layer);
}

void JobBinder::ApplyField(const Field& field, const JsonNode& value, const Place& place,
                           Layer& layer) {
  places_[field.key] = place;
  for (size_t i = 0; field.is_map && i < value.keys.size(); ++i) {
    places_[Join(field.key, value.keys[i])] = {Join(place.path, value.keys[i]),
                                               value.items[i].line};
  }
  unreadable_.erase(field.key);
  const Section* section = SectionOf(field.key);
  if (section != nullptr && section->nullable()) section->set_present(job_, true);
  if (!field.read(value, job_))
    return Refuse(field.key, place, Show(value), field.expected, field.hint(value), layer);
  if (!value.Is(Type::kNull)) SettleExclusive(field, place, layer);
}

void JobBinder::ApplyMapEntry(const Field& field, const std::string& entry, const JsonNode& value,
                              const Place& place, Layer& layer) {
  JsonNode map = field.write(job_);
  if (JsonNode* old = map.Find(entry))
    *old = value;
  else
    map.Add(entry, value);
  places_[Join(field.key, entry)] = place;
  if (!field.read(map, job_)) Refuse(field.key, place, Show(value), "a string", "", layer);
}

void JobBinder::SettleExclusive(const Field& field, const Place& place, Layer& layer) {
  layer.given.insert(field.key);
  const Field* partner = ExclusivePartner(field.key);
  if (partner == nullptr) return;
  if (layer.given.contains(partner->key)) {
    Refuse(field.key, place, Show(field.write(job_)),
           "only one of " + field.key + " and " + partner->key, "", layer);
  }
  partner->read(JsonNode(), job_);
  places_.erase(partner->key);
}

void JobBinder::RequireAll(std::vector<Problem>* problems) {
  for (const Field& field : Fields()) {
    if (!field.required || IsSet(field.key)) continue;
    std::optional<Problem> problem =
        Locate({field.key, 0, "missing", field.expected, "the key is required"});
    if (problem) problems->push_back(std::move(*problem));
    unreadable_.insert(field.key);
  }
}

std::optional<Problem> JobBinder::Locate(Problem problem) const {
  if (unreadable_.contains(problem.path)) return std::nullopt;
  std::string key = problem.path, rest;
  while (!places_.contains(key) && !key.empty()) {
    const size_t dot = key.rfind('.');
    const std::string last = dot == std::string::npos ? key : key.substr(dot + 1);
    rest = rest.empty() ? last : last + "." + rest;
    key = dot == std::string::npos ? "" : key.substr(0, dot);
  }
  const auto place = places_.find(key);
  if (place == places_.end()) return problem;
  problem.path = rest.empty() ? place->second.path : Join(place->second.path, rest);
  problem.line = place->second.line;
  return problem;
}

void JobBinder::Refuse(const std::string& key, const Place& place, std::string value,
                       std::string expected, std::string hint, Layer& layer) {
  layer.problems->push_back(
      {place.path, place.line, std::move(value), std::move(expected), std::move(hint)});
  unreadable_.insert(key);
}

}  // namespace trainctl::job
