#include "common/job/known_keys.h"

#include <string_view>
#include <utility>
#include <vector>

#include "common/job/schema.h"

namespace trainctl::job {
namespace {

using Type = JsonNode::Type;

struct KnownKey {
  const Field* field = nullptr;
  std::string_view name;             // within its section
  const Section* section = nullptr;  // null: it is a key of the top
  const Field* partner = nullptr;    // that it excludes
  std::string_view partner_name;
};

std::vector<KnownKey> FindKnownKeys() {
  std::vector<KnownKey> keys;
  for (const Field& field : Fields()) {
    const Field* partner = ExclusivePartner(field.key);
    keys.push_back({&field, LastPart(field.key), SectionOf(field.key), partner,
                    partner == nullptr ? "" : LastPart(partner->key)});
  }
  return keys;
}

// The section's object within the tree; nullptr: it has no fields there. Counts what is to be read.
// False: it is no object.
bool OpenSection(const JsonNode& root, const Section* section, JobSpec* job,
                 const JsonNode** object, size_t* unread) {
  *object = section == nullptr ? &root : root.Find(section->key);
  if (section == nullptr || *object == nullptr) return true;
  --*unread;
  const bool is_null = (*object)->Is(Type::kNull) && section->nullable();
  if (section->nullable()) section->set_present(*job, !is_null);
  if (is_null) *object = nullptr;
  if (is_null) return true;
  *unread += (*object)->items.size();
  return (*object)->Is(Type::kObject);
}

}  // namespace

std::optional<JobSpec> FromKnownKeys(const JsonNode& root) {
  static const std::vector<KnownKey> keys = FindKnownKeys();
  if (!root.Is(Type::kObject)) return std::nullopt;
  JobSpec job;
  size_t unread = root.items.size();
  const Section* section = nullptr;
  const JsonNode* object = &root;
  for (const KnownKey& key : keys) {
    if (key.section != section) {
      section = key.section;
      if (!OpenSection(root, section, &job, &object, &unread)) return std::nullopt;
    }
    const JsonNode* value = object == nullptr ? nullptr : object->Find(key.name);
    if (value == nullptr && key.field->required) return std::nullopt;
    if (value == nullptr) continue;
    --unread;
    if (!key.field->read(*value, job)) return std::nullopt;
    if (key.partner == nullptr || value->Is(Type::kNull)) continue;
    const JsonNode* other = object->Find(key.partner_name);
    if (other != nullptr && !other->Is(Type::kNull)) return std::nullopt;
    key.partner->read(JsonNode(), job);
  }
  return unread == 0 ? std::optional(std::move(job)) : std::nullopt;
}

}  // namespace trainctl::job
