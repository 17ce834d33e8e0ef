#include "common/base/ids.h"

#include <charconv>

namespace trainctl::base {
namespace {

// The digits behind the prefix letter, in the one spelling that ToString writes: no sign, no
// leading zero, not 0.
std::optional<int64_t> ParseNumbered(char prefix, std::string_view text) {
  if (text.size() < 2 || text[0] != prefix || text[1] < '1' || text[1] > '9') return std::nullopt;
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data() + 1, text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

std::string ToString(JobId id) { return "j" + std::to_string(id.value); }

std::string ToString(GroupId id) { return "g" + std::to_string(id.value); }

std::optional<JobId> ParseJobId(std::string_view text) {
  const auto value = ParseNumbered('j', text);
  if (!value) return std::nullopt;
  return JobId{*value};
}

std::optional<GroupId> ParseGroupId(std::string_view text) {
  const auto value = ParseNumbered('g', text);
  if (!value) return std::nullopt;
  return GroupId{*value};
}

}  // namespace trainctl::base
