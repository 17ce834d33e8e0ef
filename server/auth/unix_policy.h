// Which roles the Unix users of a host have on a site that is reached over loopback without TLS.
#pragma once

#include <sys/types.h>

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "common/base/result.h"
#include "server/auth/caller.h"

namespace trainctl::auth {

// Root and the coordinator's own user are admins, and their programs may be workers.
struct UnixPolicy {
  std::map<std::string, Role, std::less<>> roles;  // by user name
  Role others = Role::kUser;                       // whoever has a login and no role of their own
  bool others_named = false;                       // by "*=…"
  std::set<std::string, std::less<>> workers;      // users whose programs may be workers
};

// "anna=operator"; "*=viewer" is for whoever is not named. kInvalid: neither, or a user
// who has a role already.
base::Status AddRole(std::string_view text, UnixPolicy* policy);

struct UnixUser {
  uid_t id = 0;
  std::string name;
};

// own: the coordinator's user.
Caller CallerOf(const UnixUser& user, uid_t own, const UnixPolicy& policy);

}  // namespace trainctl::auth
