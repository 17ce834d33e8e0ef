#include "server/rpc/gate.h"

#include <unistd.h>

namespace trainctl::rpc {

base::Result<Permit> Gate::Admit(const grpc::CallbackServerContext& context, std::string_view rpc,
                                 auth::Caller* who) {
  const auto connection = connections_.Find(context.peer());
  if (!connection) return connection.error();
  auth::Caller caller;
  const auto& user = connection->user;
  if (user) caller = auth::CallerOf(*user, geteuid(), policy_);
  caller.address = connection->address;
  if (who != nullptr) *who = caller;
  if (!user) return user.error();
  const base::Status allowed = auth::CheckCall(caller, rpc);
  if (!allowed) return allowed.error();
  return Permit{std::move(caller), auth::PermissionOf(rpc).rpc};
}

}  // namespace trainctl::rpc
