// Tokens of each scope at a real coordinator: every RPC, against the table, and what the audit log
// has of what was refused.
#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>

#include "proto/trainctl.grpc.pb.h"
#include "server/auth/permissions.h"
#include "tests/rpc/any_call.h"
#include "tests/rpc/tls_site.h"

namespace trainctl::rpc_test {
namespace {

using google::protobuf::ServiceDescriptor;
using testing::AllOf;
using testing::HasSubstr;

constexpr const char* kScopes[] = {"read",  "submit",  "cancel", "remove",
                                   "lease", "operate", "admin",  "read,submit"};

class ScopesTest : public testing::Test {
 protected:
  // Of an admin: what is refused then is refused for its scope. made_with: empty: by root.
  grpc::Status MakeToken(const std::string& owner, const std::string& scope,
                         v1::CreateTokenResponse* made, const std::string& made_with = "") {
    v1::CreateTokenRequest request;
    request.set_owner(owner);
    request.set_role("admin");
    request.set_seconds(3600);
    request.set_scope(scope);
    grpc::ClientContext context;
    if (!made_with.empty()) context.AddMetadata("authorization", "Bearer " + made_with);
    const auto channel = made_with.empty() ? site_.LocalChannel() : site_.Channel();
    return v1::Coordinator::NewStub(channel)->CreateToken(&context, request, made);
  }
  // "ACTION VERDICT" of the actor's entries.
  std::vector<std::string> AuditedOf(const std::string& actor) {
    grpc::ClientContext context;
    v1::AuditRequest request;
    request.set_limit(1000);
    v1::AuditResponse response;
    EXPECT_TRUE(
        v1::Coordinator::NewStub(site_.LocalChannel())->Audit(&context, request, &response).ok());
    std::vector<std::string> told;
    for (const v1::AuditEntry& entry : response.entries()) {
      if (entry.actor() == actor) told.push_back(entry.action() + " " + entry.verdict());
    }
    return told;
  }

  TlsSite site_;
};

TEST_F(ScopesTest, EveryRpcByTokensOfEveryScopeIsAsTheTableSaysAndWhatIsRefusedIsAudited) {
  const auto* file = v1::SubmitRequest::descriptor()->file();
  grpc::GenericStub stub(site_.Channel());
  int calls = 0;
  for (const std::string scope : kScopes) {
    v1::CreateTokenResponse token;
    ASSERT_TRUE(
        MakeToken("of-" + scope.substr(0, scope.find(',')) + std::to_string(++calls), scope, &token)
            .ok());
    EXPECT_EQ(token.token().scope(), scope);
    const std::string& owner = token.token().owner();
    const auth::Caller caller{.name = owner,
                              .role = auth::Role::kAdmin,
                              .tls = true,
                              .scopes = auth::Scopes::Parse(scope).value()};
    for (const auth::Permission& row : auth::Permissions()) {
      const ServiceDescriptor* service = file->FindServiceByName("Coordinator");
      if (service->FindMethodByName(std::string(row.rpc)) == nullptr)
        service = file->FindServiceByName("WorkerGateway");
      AnyCall call(stub, "/" + service->full_name() + "/" + std::string(row.rpc), "", token.text());
      const grpc::Status status = call.Wait();
      const bool expected = auth::CheckCall(caller, row.rpc).ok();
      EXPECT_EQ(status.error_code() != grpc::StatusCode::PERMISSION_DENIED, expected)
          << row.rpc << " for " << scope << ": " << status.error_message();
      EXPECT_NE(status.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED) << row.rpc;
      ++calls;
      if (expected || row.worker || row.change.empty()) continue;
      EXPECT_THAT(AuditedOf(owner),
                  testing::Contains(
                      AllOf(HasSubstr(std::string(row.change) + " denied: token "),
                            HasSubstr("needs the scope " + std::string(auth::Name(row.scope))))));
    }
  }
  EXPECT_GE(calls, 8 * 30);
}

TEST_F(ScopesTest, ATokenMakesNoneThatIsForMoreThanItself) {
  v1::CreateTokenResponse maker, made;
  ASSERT_TRUE(MakeToken("maker", "admin", &maker).ok());
  EXPECT_TRUE(MakeToken("less", "admin", &made, maker.text()).ok());
  for (const char* more : {"", "submit"}) {
    const grpc::Status refused = MakeToken("more", more, &made, maker.text());
    EXPECT_EQ(refused.error_code(), grpc::StatusCode::PERMISSION_DENIED);
    EXPECT_THAT(refused.error_message(), HasSubstr("makes none that is for more"));
  }
  EXPECT_THAT(AuditedOf("maker"),
              testing::Contains(HasSubstr("create-token denied: a token of the scope admin")));
}

}  // namespace
}  // namespace trainctl::rpc_test
