// The tokens of those who come over TLS: made, listed and revoked.
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
  return message;
}

std::string SubjectOf(const auth::Token& token) {
  return std::to_string(token.id) + " of " + token.owner + ", " + std::string(auth::RoleOf(token));
}

base::Result<auth::SiteKeys*> NeedKeys(auth::SiteKeys* keys) {
  if (keys != nullptr) return keys;
  return base::Error{base::Code::kConflict,
                     "this coordinator has no tokens: it serves no TLS (traincoordinator init, "
                     "then --site-keys)"};
}

}  // namespace

void CoordinatorService::CreateToken(UnaryCall& call, const v1::CreateTokenRequest* request,
                                     v1::CreateTokenResponse* response) {
  AskLoop<auth::NewToken>(
      {call, request->owner()}, [this] { return NeedKeys(backend_.keys); },
      [this, request](const Permit& permit, auth::SiteKeys* keys, auto answer) {
        auto made = keys->tokens().Create({request->owner(), request->role(), request->seconds()});
        if (made)
          backend_.coordinator.RecordChange(permit.caller, "create-token", SubjectOf(made->token));
        answer(std::move(made));
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
        const base::Status revoked = keys->tokens().Revoke(id);
        if (revoked) {
          backend_.coordinator.RecordChange(permit.caller, "revoke-token", std::to_string(id));
          backend_.client_streams.EndOf(id, keys->tokens().Check(id).error());
        }
        answer(revoked);
      },
      [](base::Ok) {});
}

}  // namespace trainctl::rpc
