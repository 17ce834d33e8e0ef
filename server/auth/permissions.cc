#include "server/auth/permissions.h"

#include <algorithm>
#include <array>

namespace trainctl::auth {
namespace {

constexpr std::array kPermissions = {
    // What is asked. Everyone with a role sees all jobs, so that a class can compare its runs.
    Permission{"List", Role::kViewer, Role::kViewer},
    Permission{"Get", Role::kViewer, Role::kViewer},
    Permission{"Watch", Role::kViewer, Role::kViewer},
    Permission{"Logs", Role::kViewer, Role::kViewer},
    Permission{"Compare", Role::kViewer, Role::kViewer},
    Permission{"Metrics", Role::kViewer, Role::kViewer},
    Permission{"EarlierRuns", Role::kViewer, Role::kViewer},
    Permission{"Workers", Role::kViewer, Role::kViewer},
    // A browser at the dashboard, by the code that is asked for or by a token.
    Permission{"SignIn", Role::kViewer, Role::kViewer, false, "sign-in"},
    // What runs or reads something on the workers' hosts. Submit on anybody's: going on from a job.
    Permission{"Inspect", Role::kUser, Role::kUser},
    Permission{"ReadArtifact", Role::kUser, Role::kOperator},
    Permission{"Submit", Role::kUser, Role::kOperator, false, "submit"},
    Permission{"Cancel", Role::kUser, Role::kOperator, false, "cancel"},
    Permission{"Remove", Role::kUser, Role::kOperator, false, "rm"},
    Permission{"RemoveOutputs", Role::kUser, Role::kOperator, false, "rm-outputs"},
    // Leases: whose jobs run under one is its owner's.
    Permission{"Leases", Role::kViewer, Role::kViewer},
    Permission{"FindLease", Role::kViewer, Role::kViewer},
    Permission{"CreateLease", Role::kUser, Role::kUser, false, "lease"},
    Permission{"ExtendLease", Role::kUser, Role::kOperator, false, "extend"},
    Permission{"DeleteLease", Role::kUser, Role::kOperator, false, "unlease"},
    // What concerns the site as a whole.
    Permission{"Fence", Role::kOperator, Role::kOperator, false, "fence"},
    Permission{"RemoveWorker", Role::kOperator, Role::kOperator, false, "remove"},
    Permission{"Drain", Role::kOperator, Role::kOperator, false, "drain"},
    Permission{"Undrain", Role::kOperator, Role::kOperator, false, "undrain"},
    Permission{"Audit", Role::kAdmin, Role::kAdmin},
    Permission{"Backup", Role::kAdmin, Role::kAdmin, false, "backup"},
    Permission{"ListTokens", Role::kAdmin, Role::kAdmin},
    Permission{"CreateToken", Role::kAdmin, Role::kAdmin, false, "create-token"},
    Permission{"RevokeToken", Role::kAdmin, Role::kAdmin, false, "revoke-token"},
    Permission{"RevokeHost", Role::kAdmin, Role::kAdmin, false, "revoke-host"},
    // The workers' stream, and their certificates.
    Permission{"Connect", Role::kNone, Role::kNone, true, "connect"},
    Permission{"Certify", Role::kNone, Role::kNone, true, "certify", true},
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
  if (caller.role != Role::kNone && caller.role >= permission.own) return base::Ok{};
  return Denied(RoleText(caller) + ": " + std::string(rpc) + " needs the role " +
                std::string(Name(permission.own)) + ", which an admin gives");
}

base::Status CheckOwner(const Caller& caller, std::string_view rpc, std::string_view job,
                        std::string_view owner) {
  return CheckOwnerOf(caller, rpc, "job " + std::string(job), owner);
}

base::Status CheckOwnerOf(const Caller& caller, std::string_view rpc, const std::string& subject,
                          std::string_view owner) {
  const Permission& permission = PermissionOf(rpc);
  if (caller.role != Role::kNone && caller.role >= permission.any) return base::Ok{};
  if (base::Status call = CheckCall(caller, rpc); !call) return call;
  if (!owner.empty() && caller.name == owner) return base::Ok{};
  if (owner.empty()) return Denied(subject + " has no known owner: ask an operator");
  return Denied(subject + " belongs to " + std::string(owner) + ": ask them or an operator");
}

}  // namespace trainctl::auth
