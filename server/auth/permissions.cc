#include "server/auth/permissions.h"

#include <algorithm>
#include <array>

namespace trainctl::auth {
namespace {

constexpr std::array kPermissions = {
    // What is asked. Everyone with a role sees all jobs, so that a class can compare its runs.
    Permission{"List", Scope::kRead, Role::kViewer, Role::kViewer},
    Permission{"Get", Scope::kRead, Role::kViewer, Role::kViewer},
    Permission{"Watch", Scope::kRead, Role::kViewer, Role::kViewer},
    Permission{"Logs", Scope::kRead, Role::kViewer, Role::kViewer},
    Permission{"Compare", Scope::kRead, Role::kViewer, Role::kViewer},
    Permission{"Metrics", Scope::kRead, Role::kViewer, Role::kViewer},
    Permission{"EarlierRuns", Scope::kRead, Role::kViewer, Role::kViewer},
    Permission{"Workers", Scope::kRead, Role::kViewer, Role::kViewer},
    // A browser at the dashboard, by the code that is asked for or by a token.
    Permission{"SignIn", Scope::kRead, Role::kViewer, Role::kViewer, false, "sign-in"},
    // What runs or reads something on the workers' hosts. Submit on anybody's: going on from a job.
    Permission{"Inspect", Scope::kSubmit, Role::kUser, Role::kUser},
    Permission{"ReadArtifact", Scope::kRead, Role::kUser, Role::kOperator},
    Permission{"Submit", Scope::kSubmit, Role::kUser, Role::kOperator, false, "submit"},
    Permission{"Cancel", Scope::kCancel, Role::kUser, Role::kOperator, false, "cancel"},
    Permission{"Remove", Scope::kRemove, Role::kUser, Role::kOperator, false, "rm"},
    Permission{"RemoveOutputs", Scope::kRemove, Role::kUser, Role::kOperator, false, "rm-outputs"},
    // Leases: whose jobs run under one is its owner's.
    Permission{"Leases", Scope::kRead, Role::kViewer, Role::kViewer},
    Permission{"FindLease", Scope::kRead, Role::kViewer, Role::kViewer},
    Permission{"CreateLease", Scope::kLease, Role::kUser, Role::kUser, false, "lease"},
    Permission{"ExtendLease", Scope::kLease, Role::kUser, Role::kOperator, false, "extend"},
    Permission{"DeleteLease", Scope::kLease, Role::kUser, Role::kOperator, false, "unlease"},
    // What concerns the site as a whole.
    Permission{"Fence", Scope::kOperate, Role::kOperator, Role::kOperator, false, "fence"},
    Permission{"RemoveWorker", Scope::kOperate, Role::kOperator, Role::kOperator, false, "remove"},
    Permission{"Drain", Scope::kOperate, Role::kOperator, Role::kOperator, false, "drain"},
    Permission{"Undrain", Scope::kOperate, Role::kOperator, Role::kOperator, false, "undrain"},
    Permission{"Audit", Scope::kRead, Role::kAdmin, Role::kAdmin},
    Permission{"Backup", Scope::kAdmin, Role::kAdmin, Role::kAdmin, false, "backup"},
    Permission{"ListTokens", Scope::kRead, Role::kAdmin, Role::kAdmin},
    Permission{"CreateToken", Scope::kAdmin, Role::kAdmin, Role::kAdmin, false, "create-token"},
    Permission{"RevokeToken", Scope::kAdmin, Role::kAdmin, Role::kAdmin, false, "revoke-token"},
    Permission{"RevokeHost", Scope::kAdmin, Role::kAdmin, Role::kAdmin, false, "revoke-host"},
    // The workers' stream, and their certificates.
    Permission{"Connect", Scope::kNone, Role::kNone, Role::kNone, true, "connect"},
    Permission{"Certify", Scope::kNone, Role::kNone, Role::kNone, true, "certify", true},
};

base::Error Denied(const std::string& message) { return {base::Code::kDenied, message}; }

std::string NameOf(const Caller& caller) {
  return caller.name.empty() ? "the caller" : caller.name;
}

std::string RoleText(const Caller& caller) {
  if (caller.role == Role::kNone) return NameOf(caller) + " has no role on this site";
  return NameOf(caller) + " is " + (caller.role < Role::kOperator ? "a " : "an ") +
         std::string(Name(caller.role));
}

}  // namespace

std::span<const Permission> Permissions() { return kPermissions; }

const Permission& PermissionOf(std::string_view rpc) {
  const auto found = std::ranges::find(kPermissions, rpc, &Permission::rpc);
  CHECK(found != kPermissions.end()) << "no permission for " << rpc;
  return *found;
}

bool MayUse(Role role, Scope scope) {
  return std::ranges::any_of(kPermissions, [&](const Permission& each) {
    return each.scope == scope && role >= each.own;
  });
}

base::Status CheckCall(const Caller& caller, std::string_view rpc) {
  const Permission& permission = PermissionOf(rpc);
  if (permission.worker) {
    if (caller.is_worker || (permission.joins && caller.joins != 0)) return base::Ok{};
    if (caller.tls) {
      return Denied(NameOf(caller) +
                    " is no worker of this site: over TLS a worker has a certificate, which "
                    "trainworker join obtains with a token of trainctl admin worker-token");
    }
    return Denied(NameOf(caller) +
                  " is no worker of this site: a worker runs as the coordinator's user, as root, "
                  "or as one that traincoordinator --worker-user names");
  }
  if (caller.role == Role::kNone || caller.role < permission.own) {
    return Denied(RoleText(caller) + ": " + std::string(rpc) + " needs the role " +
                  std::string(Name(permission.own)) + ", which an admin gives");
  }
  if (caller.scopes.Has(permission.scope)) return base::Ok{};
  return Denied("token " + std::to_string(caller.token) + " of " + NameOf(caller) +
                " has the scope " + caller.scopes.ToString() + ": " + std::string(rpc) +
                " needs the scope " + std::string(Name(permission.scope)) +
                ", in a token that an admin makes");
}

base::Status CheckOwner(const Caller& caller, std::string_view rpc, std::string_view job,
                        std::string_view owner) {
  return CheckOwnerOf(caller, rpc, "job " + std::string(job), owner);
}

base::Status CheckOwnerOf(const Caller& caller, std::string_view rpc, const std::string& subject,
                          std::string_view owner) {
  const Permission& permission = PermissionOf(rpc);
  if (base::Status call = CheckCall(caller, rpc); !call) return call;
  if (caller.role >= permission.any) return base::Ok{};
  if (!owner.empty() && caller.name == owner) return base::Ok{};
  if (owner.empty()) return Denied(subject + " has no known owner: ask an operator");
  return Denied(subject + " belongs to " + std::string(owner) + ": ask them or an operator");
}

}  // namespace trainctl::auth
