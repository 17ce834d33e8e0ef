// Who makes a call, as the server has proven it; nothing of it is taken from a message.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/clock.h"
#include "server/auth/scope.h"

namespace trainctl::auth {

// Each may do what the one before it may.
enum class Role { kNone, kViewer, kUser, kOperator, kAdmin };
std::string_view Name(Role role);  // "none", "viewer", …
std::optional<Role> ParseRole(std::string_view name);

// What the workers of a host are called that come over TLS.
inline std::string WorkersOf(const std::string& host) { return "worker:" + host; }

struct Caller {
  std::string name;         // "anna"; the owner of what is submitted. Empty: not known
  std::string address;      // "127.0.0.1:40312"
  Role role = Role::kNone;  // as a person
  bool is_worker = false;   // may connect as a worker of the site

  // Of those who come over TLS.
  bool tls = false;
  std::string host;   // of a worker's certificate or join token; its workers are of this host
  int64_t joins = 0;  // the id of its join token; 0: it has none
  base::WallMicros certified_at = 0;  // when its certificate was made; 0: it has none
  int64_t token = 0;                  // the id of a person's token; 0: it has none
  Scopes scopes;                      // of that token
  int64_t session = 0;                // of a browser that has signed in (sign_ins.h); 0: none
};

}  // namespace trainctl::auth
