#include "server/auth/unix_policy.h"

#include <utility>

namespace trainctl::auth {

base::Status AddRole(std::string_view text, UnixPolicy* policy) {
  const size_t equals = text.find('=');
  const std::string_view name = text.substr(0, equals);
  const auto role =
      equals == std::string_view::npos ? std::nullopt : ParseRole(text.substr(equals + 1));
  if (name.empty() || !role) {
    return base::Error{base::Code::kInvalid,
                       "--role '" + std::string(text.substr(0, 256)) +
                           "': expected USER=ROLE with a role of none, viewer, user, operator, "
                           "admin; '*' is everyone else"};
  }
  if (name != "*" && policy->roles.emplace(name, *role).second) return base::Ok{};
  if (name == "*" && !std::exchange(policy->others_named, true)) {
    policy->others = *role;
    return base::Ok{};
  }
  return base::Error{base::Code::kInvalid, "--role '" + std::string(text.substr(0, 256)) + "': '" +
                                               std::string(name.substr(0, 256)) +
                                               "' has a role already: say it once"};
}

Caller CallerOf(const UnixUser& user, uid_t own, const UnixPolicy& policy) {
  Caller caller{.name = user.name};
  const bool is_own = user.id == 0 || user.id == own;
  const auto named = policy.roles.find(user.name);
  caller.role = is_own ? Role::kAdmin : named != policy.roles.end() ? named->second : policy.others;
  caller.is_worker = is_own || policy.workers.contains(user.name);
  return caller;
}

}  // namespace trainctl::auth
