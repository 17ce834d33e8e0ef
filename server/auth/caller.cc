#include "server/auth/caller.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace trainctl::auth {
namespace {

constexpr std::array<std::string_view, 5> kNames = {"none", "viewer", "user", "operator", "admin"};

}  // namespace

std::string_view Name(Role role) { return kNames.at(static_cast<size_t>(role)); }

std::optional<Role> ParseRole(std::string_view name) {
  const auto found = std::ranges::find(kNames, name);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<Role>(found - kNames.begin());
}

}  // namespace trainctl::auth
