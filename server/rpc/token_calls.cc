// By what they come who come over TLS: tokens are made, listed and revoked, certificates revoked,
// and browsers let in.
#include <algorithm>

#include "server/rpc/coordinator_service.h"
#include "server/rpc/unary_call.h"

namespace trainctl::rpc {
namespace {

v1::Token EncodeToken(const auth::Token& token) {
  v1::Token message;
  message.set_id(token.id);
  message.set_owner(token.owner);
  message.set_role(std::string(auth::RoleOf(token)));
  message.set_created_at(token.created_at);
  message.set_expires_at(token.expires_at);
  message.set_scope(token.scopes.ToString());
  return message;
}

std::string SubjectOf(const auth::Token& token) {
  const std::string scope = token.scopes.ToString();
  return std::to_string(token.id) + " of " + token.owner + ", " + std::string(auth::RoleOf(token)) +
         (scope.empty() ? "" : ", for " + scope);
}

base::Result<auth::SiteKeys*> NeedKeys(auth::SiteKeys* keys) {
  if (keys != nullptr) return keys;
  return base::Error{base::Code::kConflict,
                     "this coordinator has no tokens: it serves no TLS (traincoordinator init, "
                     "then --site-keys)"};
}

}  // namespace

void CoordinatorService::SignIn(UnaryCall& call, const v1::SignInRequest*,
                                v1::SignInResponse* response) {
  AskLoop<std::string>(
      {call},
      [this]() -> base::Result<auth::SignIns*> {
        if (backend_.sign_ins != nullptr) return backend_.sign_ins;
        return base::Error{base::Code::kConflict,
                           "this coordinator serves no dashboard with TLS: start it with "
                           "--site-keys and --dashboard-tls"};
      },
      [](const Permit& permit, auth::SignIns* sign_ins, auto answer) {
        answer(sign_ins->MakeCode(permit.caller));
      },
      [response](std::string code) {
        response->set_code(std::move(code));
        response->set_seconds(auth::SignIns::kCodeSeconds);
      });
}

void CoordinatorService::CreateToken(UnaryCall& call, const v1::CreateTokenRequest* request,
                                     v1::CreateTokenResponse* response) {
  AskLoop<auth::NewToken>(
      {call, request->owner()}, [this] { return NeedKeys(backend_.keys); },
      [this, request](const Permit& permit, auth::SiteKeys* keys, auto answer) {
        auto made = keys->tokens().Create({.owner = request->owner(),
                                           .role = request->role(),
                                           .seconds = request->seconds(),
                                           .scope = request->scope(),
                                           .most = permit.caller.scopes});
        if (!made) return answer(made.error());
        const auto stored = [keys, made = *made, answer](const base::Status& status) {
          if (status) return answer(made);
          const base::Status undone = keys->tokens().Revoke(made.token.id);
          answer(undone ? status.error() : undone.error());  // its text is told to nobody
        };
        backend_.coordinator.RecordChange(permit.caller, "create-token", SubjectOf(made->token),
                                          stored);
      },
      [response](const auth::NewToken& made) {
        *response->mutable_token() = EncodeToken(made.token);
        response->set_text(made.text);
      });
}

void CoordinatorService::ListTokens(UnaryCall& call, const v1::ListTokensRequest*,
                                    v1::ListTokensResponse* response) {
  using Tokens = std::vector<auth::Token>;
  AskLoop<Tokens>(
      {call}, [this] { return NeedKeys(backend_.keys); },
      [](const Permit&, auth::SiteKeys* keys, auto answer) { answer(keys->tokens().List()); },
      [response](const Tokens& tokens) {
        for (const auth::Token& token : tokens) *response->add_tokens() = EncodeToken(token);
      });
}

void CoordinatorService::RevokeToken(UnaryCall& call, const v1::RevokeTokenRequest* request,
                                     v1::RevokeTokenResponse*) {
  AskLoop<base::Ok>(
      {call, std::to_string(request->id())}, [this] { return NeedKeys(backend_.keys); },
      [this, id = request->id()](const Permit& permit, auth::SiteKeys* keys, auto answer) {
        const auto revoke = [this, id, keys, answer](const base::Status& stored) {
          const base::Status revoked = stored ? keys->tokens().Revoke(id) : stored;
          if (revoked) backend_.client_streams.EndOf(id, keys->tokens().Check(id).error());
          answer(revoked);
        };
        const std::vector<auth::Token> tokens = keys->tokens().List();
        if (std::ranges::find(tokens, id, &auth::Token::id) == tokens.end())
          return revoke(base::Ok{});  // which says so
        backend_.coordinator.RecordChange(permit.caller, "revoke-token", std::to_string(id),
                                          revoke);
      },
      [](base::Ok) {});
}

void CoordinatorService::RevokeHost(UnaryCall& call, const v1::RevokeHostRequest* request,
                                    v1::RevokeHostResponse* response) {
  AskLoop<int64_t>(
      {call, request->host()}, [this] { return NeedKeys(backend_.keys); },
      [this, request, response](const Permit& permit, auth::SiteKeys* keys, auto answer) {
        const auto revoke = [=, this](const base::Status& stored) {
          const std::string& host = request->host();
          const base::Status revoked = stored ? keys->RevokeHost(host) : stored;
          if (!revoked) return answer(revoked.error());
          response->set_known(backend_.coordinator.state().hosts.contains(host));
          answer(backend_.worker_streams.EndOfUser(auth::WorkersOf(host),
                                                   keys->CheckUnrevoked(host, 0).error()));
        };
        const base::Status named = auth::SiteKeys::CheckHostName(request->host());
        if (!named) return answer(named.error());
        backend_.coordinator.RecordChange(permit.caller, "revoke-host", request->host(), revoke);
      },
      [response](int64_t streams) { response->set_streams(streams); });
}

}  // namespace trainctl::rpc
