// Changes of keys and tokens whose row of the audit log can't be stored: none is made.
#include <gmock/gmock.h>

#include <filesystem>
#include <functional>

#include "tests/rpc/tls_site.h"

namespace trainctl::rpc_test {
namespace {

using Stub = v1::Coordinator::Stub;

class UnstoredChangesTest : public testing::Test {
 protected:
  template <class Request, class Response>
  grpc::Status Call(grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                    const Request& request, Response* response) {
    grpc::ClientContext context;
    return (v1::Coordinator::NewStub(site_.LocalChannel()).get()->*method)(&context, request,
                                                                           response);
  }
  grpc::Status Create(const std::string& owner, const std::string& role,
                      v1::CreateTokenResponse* response) {
    v1::CreateTokenRequest request;
    request.set_owner(owner);
    request.set_role(role);
    request.set_seconds(600);
    return Call(&Stub::CreateToken, request, response);
  }
  grpc::Status RevokeToken(int64_t id) {
    v1::RevokeTokenRequest request;
    request.set_id(id);
    v1::RevokeTokenResponse response;
    return Call(&Stub::RevokeToken, request, &response);
  }
  grpc::Status RevokeHost(const std::string& host) {
    v1::RevokeHostRequest request;
    request.set_host(host);
    v1::RevokeHostResponse response;
    return Call(&Stub::RevokeHost, request, &response);
  }
  grpc::Status Join(const std::string& token) {
    grpc::ClientContext context;
    context.AddMetadata("authorization", "Bearer " + token);
    v1::CertifyRequest request;
    request.set_certificate_request(tls::MakeRequest(tls::MakeKey().value()).value());
    v1::CertifyResponse response;
    return v1::WorkerGateway::NewStub(site_.Channel())->Certify(&context, request, &response);
  }
  std::string KeysFile(const std::string& name) const {
    const auto text = base::ReadFile(site_.keys() + "/" + name, 1 << 20);
    return text ? *text : "";
  }
  // "anna's token", …: the owner of each.
  std::vector<std::string> Owners() {
    v1::ListTokensResponse response;
    EXPECT_TRUE(Call(&Stub::ListTokens, v1::ListTokensRequest(), &response).ok());
    std::vector<std::string> owners;
    for (const v1::Token& token : response.tokens()) owners.push_back(token.owner());
    return owners;
  }
  std::vector<std::string> Changes() {
    v1::AuditRequest request;
    request.set_limit(100);
    v1::AuditResponse response;
    EXPECT_TRUE(Call(&Stub::Audit, request, &response).ok());
    std::vector<std::string> lines;
    for (const v1::AuditEntry& entry : response.entries())
      if (entry.verdict() == "accepted") lines.push_back(entry.action() + " " + entry.subject());
    return lines;
  }

  TlsSite site_;
};

TEST_F(UnstoredChangesTest, AreRefusedAndNotMade) {
  v1::CreateTokenResponse person, worker, none;
  ASSERT_TRUE(Create("anna", "user", &person).ok());
  ASSERT_TRUE(Create("a", "worker", &worker).ok());
  const std::vector<std::string> owners = Owners();
  std::filesystem::rename(site_.database(), site_.database() + ".kept");
  const std::vector<std::function<grpc::Status()>> changes = {
      [&] { return Create("ben", "admin", &none); },
      [&] { return RevokeToken(person.token().id()); }, [&] { return RevokeHost("a"); },
      [&] { return Join(worker.text()); }};
  for (const auto& change : changes)
    EXPECT_THAT(change().error_message(), testing::HasSubstr("was moved away"));
  EXPECT_EQ(none.text(), "");
  EXPECT_EQ(Owners(), owners);
  EXPECT_EQ(KeysFile("revoked"), "");

  std::filesystem::rename(site_.database() + ".kept", site_.database());
  EXPECT_TRUE(Join(worker.text()).ok()) << "its token is not used up";
  EXPECT_EQ(Join(worker.text()).error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_TRUE(RevokeHost("a").ok());
  EXPECT_TRUE(RevokeToken(person.token().id()).ok());
  EXPECT_EQ(RevokeToken(77).error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(RevokeHost("no host").error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  const std::string id = std::to_string(person.token().id());
  EXPECT_EQ(Changes(), (std::vector<std::string>{
                           "revoke-token " + id, "revoke-host a", "certify a",
                           "create-token " + std::to_string(worker.token().id()) + " of a, worker",
                           "create-token " + id + " of anna, user"}));
}

}  // namespace
}  // namespace trainctl::rpc_test
