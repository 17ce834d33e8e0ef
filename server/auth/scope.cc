#include "server/auth/scope.h"

#include <algorithm>
#include <array>

#include "common/base/utf8.h"

namespace trainctl::auth {
namespace {

constexpr std::array<std::string_view, 8> kScopeNames = {"none",   "read",  "submit",  "cancel",
                                                         "remove", "lease", "operate", "admin"};
constexpr size_t kMaxShownBytes = 64;

// Scope::kNone is none that can be given.
std::optional<Scope> ParseScope(std::string_view name) {
  const auto found = std::find(kScopeNames.begin() + 1, kScopeNames.end(), name);
  if (found == kScopeNames.end()) return std::nullopt;
  return static_cast<Scope>(found - kScopeNames.begin());
}

}  // namespace

std::string_view Name(Scope scope) { return kScopeNames.at(static_cast<size_t>(scope)); }

base::Result<Scopes> Scopes::Parse(std::string_view text) {
  Scopes scopes;
  if (text.empty()) return scopes;
  scopes.bits_ = 0;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view name = text.substr(begin, end - begin);
    const auto scope = ParseScope(name);
    if (!scope) {
      return base::Error{base::Code::kInvalid,
                         "scope '" + base::Excerpt(name, kMaxShownBytes) +
                             "': expected some of read, submit, cancel, remove, lease, operate and "
                             "admin, as read,submit"};
    }
    *scopes.bits_ |= BitOf(*scope);
    begin = end + 1;
  }
  return scopes;
}

bool Scopes::Include(const Scopes& others) const {
  return !bits_ || (others.bits_ && (*others.bits_ & ~*bits_) == 0);
}

std::vector<Scope> Scopes::Named() const {
  std::vector<Scope> named;
  for (size_t i = 1; bits_ && i < kScopeNames.size(); ++i) {
    if (Has(static_cast<Scope>(i))) named.push_back(static_cast<Scope>(i));
  }
  return named;
}

std::string Scopes::ToString() const {
  std::string text;
  for (const Scope scope : Named()) text += (text.empty() ? "" : ",") + std::string(Name(scope));
  return text;
}

}  // namespace trainctl::auth
