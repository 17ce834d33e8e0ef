#include "server/rpc/gate.h"

#include <grpc/grpc_security_constants.h>
#include <grpcpp/security/auth_context.h>
#include <unistd.h>

#include <optional>
#include <string>

#include "common/peer/socket_owner.h"
#include "common/wire/grpc_code.h"

namespace trainctl::rpc {
namespace {

constexpr std::string_view kScheme = "Bearer ";

std::string Property(const grpc::AuthContext& context, const char* name) {
  const auto values = context.FindPropertyValues(name);
  return values.empty() ? "" : std::string(values.front().data(), values.front().size());
}

bool IsTls(const grpc::CallbackServerContext& context) {
  const auto connection = context.auth_context();
  return connection != nullptr &&
         Property(*connection, GRPC_TRANSPORT_SECURITY_TYPE_PROPERTY_NAME) ==
             GRPC_SSL_TRANSPORT_SECURITY_TYPE;
}

// The text behind "Bearer "; empty: it is no such value, or there are several.
std::optional<std::string> TokenOf(const grpc::CallbackServerContext& context) {
  const auto& metadata = context.client_metadata();
  const auto found = metadata.find("authorization");
  if (found == metadata.end()) return std::nullopt;
  const std::string_view value(found->second.data(), found->second.size());
  if (metadata.count("authorization") != 1 || !value.starts_with(kScheme)) return "";
  return std::string(value.substr(kScheme.size()));
}

// As peers of one address with TLS are called: "ipv4:10.0.0.7:40312".
std::string AddressOf(const std::string& peer) {
  const auto endpoint = peer::ParseEndpoint(peer);
  return endpoint ? peer::ToString(*endpoint) : peer;
}

// Workers of the site call when they must, and their number is bounded.
bool IsWorkersOwn(const auth::Caller& caller, std::string_view rpc) {
  return caller.is_worker && auth::PermissionOf(rpc).worker;
}

}  // namespace

base::Result<Permit> Gate::Admit(grpc::CallbackServerContext& context, std::string_view rpc,
                                 auth::Caller* who) {
  auth::Caller caller;
  const base::Status known = Identify(context, &caller);
  if (who != nullptr) *who = caller;
  if (!IsWorkersOwn(caller, rpc)) {
    if (const auto refusal = rate_.Take(auth::PayerOf(caller))) {
      context.AddTrailingMetadata(wire::kRetryAfterMs, std::to_string(refusal->wait_ms));
      return refusal->error;
    }
  }
  if (!known) return known.error();
  const base::Status allowed = auth::CheckCall(caller, rpc);
  if (!allowed) return allowed.error();
  return Permit{std::move(caller), auth::PermissionOf(rpc).rpc, keys_};
}

base::Status Gate::Identify(const grpc::CallbackServerContext& context, auth::Caller* caller) {
  if (IsTls(context)) return IdentifyByTls(context, caller);
  const auto connection = connections_.Find(context.peer());
  if (!connection) return connection.error();
  const auto& user = connection->user;
  if (user) *caller = auth::CallerOf(*user, geteuid(), policy_);
  caller->address = connection->address;
  if (!user) return user.error();
  return base::Ok{};
}

base::Status Gate::IdentifyByTls(const grpc::CallbackServerContext& context,
                                 auth::Caller* caller) const {
  caller->tls = true;
  caller->address = AddressOf(context.peer());
  CHECK(keys_ != nullptr) << "TLS without keys";
  if (const auto text = TokenOf(context)) {
    const auto token = keys_->tokens().Find(*text);
    if (!token) return token.error();
    *caller = auth::CallerOf(*token);
    caller->address = AddressOf(context.peer());
    return base::Ok{};
  }
  // gRPC has verified it at the handshake: only workers have certificates that are for clients.
  const auto connection = context.auth_context();
  caller->host = Property(*connection, GRPC_X509_CN_PROPERTY_NAME);
  if (!connection->IsPeerAuthenticated() || caller->host.empty()) {
    return base::Error{base::Code::kDenied,
                       "a token is needed: trainctl context add names the file of the one that an "
                       "admin gave"};
  }
  const auto made =
      keys_->CheckCertificate(Property(*connection, GRPC_X509_PEM_CERT_PROPERTY_NAME));
  if (!made) return made.error();
  caller->certified_at = *made;
  caller->name = auth::WorkersOf(caller->host);
  caller->is_worker = true;
  return base::Ok{};
}

}  // namespace trainctl::rpc
