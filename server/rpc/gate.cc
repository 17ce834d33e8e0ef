#include "server/rpc/gate.h"

#include <grpcpp/security/auth_context.h>
#include <unistd.h>

#include <memory>
#include <optional>
#include <utility>

#include "common/peer/socket_owner.h"

namespace trainctl::rpc {
namespace {

// Properties of a connection's context.
constexpr const char* kUserId = "trainctl_user_id";
constexpr const char* kUserName = "trainctl_user_name";

std::string Property(const grpc::AuthContext& connection, const char* name) {
  const auto values = connection.FindPropertyValues(name);
  return values.empty() ? "" : std::string(values.front().data(), values.front().size());
}

// "127.0.0.1:40312" of "ipv4:127.0.0.1:40312".
std::string AddressOf(const grpc::CallbackServerContext& context) {
  const std::string text = context.peer();
  const auto endpoint = peer::ParseEndpoint(text);
  return endpoint ? peer::ToString(*endpoint) : text;
}

}  // namespace

Gate::Gate(const auth::ListenAddress& own, auth::UnixPolicy policy)
    : own_(own), policy_(std::move(policy)) {}

base::Result<Permit> Gate::Admit(const grpc::CallbackServerContext& context, std::string_view rpc,
                                 auth::Caller* who) {
  auth::Caller caller;
  const auto user = Prove(context);
  if (user) caller = auth::CallerOf(*user, geteuid(), policy_);
  caller.address = AddressOf(context);
  if (who != nullptr) *who = caller;
  if (!user) return user.error();
  const base::Status allowed = auth::CheckCall(caller, rpc);
  if (!allowed) return allowed.error();
  return Permit{std::move(caller), auth::PermissionOf(rpc).rpc};
}

base::Result<auth::UnixUser> Gate::Prove(const grpc::CallbackServerContext& context) {
  // One for all calls of a connection, though each call is handed a wrapper of its own.
  const auto connection = std::const_pointer_cast<grpc::AuthContext>(context.auth_context());
  {
    const std::lock_guard lock(mutex_);
    const std::string id = Property(*connection, kUserId);
    if (!id.empty())
      return auth::UnixUser{static_cast<uid_t>(std::stoul(id)), Property(*connection, kUserName)};
  }
  const auto client = peer::ParseEndpoint(context.peer());
  const auto server = peer::ParseEndpoint(auth::ToString(own_));
  if (!client || !server) {
    return base::Error{base::Code::kDenied,
                       "who calls is not known: '" + context.peer() + "' is no TCP connection"};
  }
  const auto id = peer::OwnerOfSocket(*client, *server);
  if (!id) return id.error();
  auth::UnixUser user{*id, peer::UserName(*id)};
  const std::lock_guard lock(mutex_);
  if (!Property(*connection, kUserId).empty()) return user;  // by another call, meanwhile
  connection->AddProperty(kUserName, user.name);
  connection->AddProperty(kUserId, std::to_string(user.id));
  return user;
}

}  // namespace trainctl::rpc
