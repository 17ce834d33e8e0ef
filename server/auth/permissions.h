// Who may make which call: the one table, for every RPC of proto/trainctl.proto. An RPC without a
// row is allowed to nobody.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "common/base/result.h"
#include "server/auth/caller.h"

namespace trainctl::auth {

struct Permission {
  std::string_view rpc;  // a method of one of the services
  Scope scope;           // what a token must be for that makes it
  Role own;              // the least role that may make it on what is the caller's own
  Role any;              // the least role that may make it on anybody's
  bool worker = false;   // made by workers, whatever their role
  // What the audit log calls it; empty: it changes nothing.
  std::string_view change = {};
  bool joins = false;  // also made with a join token
};

std::span<const Permission> Permissions();
// CHECKs that there is a row.
const Permission& PermissionOf(std::string_view rpc);

// Whether there are calls of this scope that the role may make.
bool MayUse(Role role, Scope scope);

// kDenied: the caller may not make this call, not even on their own. The message names the rule.
base::Status CheckCall(const Caller& caller, std::string_view rpc);

// Whether this caller may make the call on a job of this owner. An owner that is not known is
// nobody. kDenied: "job j3 belongs to anna: ask them or an operator".
base::Status CheckOwner(const Caller& caller, std::string_view rpc, std::string_view job,
                        std::string_view owner);

// The same of what is called so: "lease 'lab'".
base::Status CheckOwnerOf(const Caller& caller, std::string_view rpc, const std::string& subject,
                          std::string_view owner);

}  // namespace trainctl::auth
