// What the coordinator in memory lets admins do.
#include <algorithm>
#include <array>

#include "tests/client/fake_coordinator.h"

namespace trainctl::client {
namespace {

v1::Token TokenOf(const v1::CreateTokenRequest& request, size_t id) {
  v1::Token token;
  token.set_id(static_cast<int64_t>(id));
  token.set_owner(request.owner());
  token.set_role(request.role());
  token.set_scope(request.scope());
  token.set_expires_at(request.seconds() * 1'000'000);
  return token;
}

base::Status CheckToken(const v1::CreateTokenRequest& request) {
  constexpr std::array<std::string_view, 5> kRoles = {"viewer", "user", "operator", "admin",
                                                      "worker"};
  const bool has_role = std::ranges::find(kRoles, request.role()) != kRoles.end();
  if (has_role && !request.owner().empty() && request.seconds() >= 60) return base::Ok{};
  return base::Error{base::Code::kInvalid, "expected a role, an owner and a minute or more"};
}

bool IsRevoked(const FakeCoordinator& fake, int64_t id) {
  return std::ranges::count(fake.revoked_tokens, id) > 0;
}

}  // namespace

base::Result<v1::SignInResponse> FakeApi::SignIn() {
  if (fake_->unreachable) return Unreachable();
  v1::SignInResponse response;
  response.set_code("c0de");
  response.set_seconds(60);
  return response;
}

base::Result<v1::CreateTokenResponse> FakeApi::CreateToken(const v1::CreateTokenRequest& request) {
  if (fake_->unreachable) return Unreachable();
  if (const base::Status good = CheckToken(request); !good.ok()) return good.error();
  fake_->tokens.push_back(request);
  v1::CreateTokenResponse response;
  *response.mutable_token() = TokenOf(request, fake_->tokens.size());
  response.set_text("trainctl_secret");
  return response;
}

base::Result<v1::ListTokensResponse> FakeApi::ListTokens() {
  if (fake_->unreachable) return Unreachable();
  v1::ListTokensResponse response;
  for (size_t i = 0; i < fake_->tokens.size(); ++i) {
    if (!IsRevoked(*fake_, static_cast<int64_t>(i) + 1))
      *response.add_tokens() = TokenOf(fake_->tokens[i], i + 1);
  }
  return response;
}

base::Result<v1::RevokeTokenResponse> FakeApi::RevokeToken(const v1::RevokeTokenRequest& request) {
  if (fake_->unreachable) return Unreachable();
  const auto made = static_cast<int64_t>(fake_->tokens.size());
  if (request.id() < 1 || request.id() > made || IsRevoked(*fake_, request.id()))
    return base::Error{base::Code::kNotFound, "no token " + std::to_string(request.id())};
  fake_->revoked_tokens.push_back(request.id());
  return v1::RevokeTokenResponse();
}

base::Result<v1::RevokeHostResponse> FakeApi::RevokeHost(const v1::RevokeHostRequest& request) {
  if (fake_->unreachable) return Unreachable();
  fake_->revoked_hosts.push_back(request.host());
  v1::RevokeHostResponse response;
  for (const v1::WorkerView& worker : fake_->workers)
    response.set_streams(response.streams() + (worker.host() == request.host() ? 1 : 0));
  response.set_known(response.streams() > 0);
  return response;
}

base::Result<v1::BackupResponse> FakeApi::Backup(const v1::BackupRequest& request) {
  if (fake_->unreachable) return Unreachable();
  fake_->backups.push_back(request.path());
  v1::BackupResponse response;
  response.set_bytes(3 << 20);
  response.set_jobs(12);
  return response;
}

}  // namespace trainctl::client
