#include "common/base/duration_hint.h"

#include <algorithm>
#include <cctype>

#include "common/base/size.h"

namespace trainctl::base {
namespace {

struct OtherName {
  std::string_view name, unit;
};

constexpr OtherName kOtherNames[] = {
    {"m", "min"},    {"mins", "min"},  {"minute", "min"}, {"minutes", "min"}, {"hr", "h"},
    {"hrs", "h"},    {"hour", "h"},    {"hours", "h"},    {"sec", "s"},       {"secs", "s"},
    {"second", "s"}, {"seconds", "s"}, {"day", "d"},      {"days", "d"},
};

std::string UnitOf(const std::string& name) {
  const auto* const found = std::ranges::find(kOtherNames, name, &OtherName::name);
  return found == std::end(kOtherNames) ? name : std::string(found->unit);
}

}  // namespace

std::string DurationHint(std::string_view text) {
  std::string meant, name;
  for (const char c : text) {
    if (std::isalpha(static_cast<unsigned char>(c)) != 0) {
      name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      continue;
    }
    meant += UnitOf(name);
    name.clear();
    if (c != ' ') meant += c;
  }
  meant += UnitOf(name);
  const bool helps = !ParseDuration(text) && ParseDuration(meant).value_or(0) > 0;
  return helps ? "did you mean '" + meant + "'?" : "";
}

}  // namespace trainctl::base
