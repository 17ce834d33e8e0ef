#include "common/job/suggest_key.h"

#include <algorithm>
#include <vector>

#include "common/base/did_you_mean.h"
#include "common/job/foreign_names.h"
#include "common/job/schema.h"

namespace trainctl::job {
namespace {

// The keys, sections included, that stand directly in the section.
std::vector<std::string_view> KeysWithin(std::string_view section) {
  std::vector<std::string_view> keys;
  for (const Field& field : Fields()) {
    if (Parent(field.key) == section) keys.push_back(LastPart(field.key));
  }
  for (const Section& inner : Sections()) {
    if (section.empty()) keys.push_back(inner.key);
  }
  return keys;
}

}  // namespace

std::string SuggestKey(std::string_view key) {
  const std::string_view parent = Parent(key), name = LastPart(key);
  if (const ForeignName* foreign = FindForeignName(name)) {
    const bool is_sibling = !parent.empty() && Parent(foreign->key) == parent;
    return "did you mean '" + std::string(is_sibling ? LastPart(foreign->key) : foreign->key) +
           "'?";
  }
  const std::vector<std::string_view> siblings = KeysWithin(parent);
  if (std::string hint = base::DidYouMean(name, siblings); !hint.empty()) return hint;
  for (const Field& field : Fields()) {
    if (LastPart(field.key) == name) return "did you mean '" + field.key + "'?";
  }
  std::vector<std::string_view> all, last_parts;
  for (const Field& field : Fields()) {
    all.push_back(field.key);
    last_parts.push_back(LastPart(field.key));
  }
  if (const auto begun = base::OnlyBeginning(name, last_parts)) {
    const auto place = std::ranges::find(last_parts, *begun) - last_parts.begin();
    return "did you mean '" + std::string(all[static_cast<size_t>(place)]) + "'?";
  }
  return base::DidYouMean(key, all);
}

}  // namespace trainctl::job
