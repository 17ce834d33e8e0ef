// A host whose certificates are taken back: over real TLS, with a coordinator that is started
// again.
#include <gmock/gmock.h>

#include "tests/rpc/fake_worker.h"
#include "tests/rpc/tls_site.h"

namespace trainctl::rpc_test {
namespace {

using testing::Contains;
using testing::StartsWith;
using Code = grpc::StatusCode;

class RevokeHostTest : public testing::Test {
 protected:
  std::unique_ptr<v1::Coordinator::Stub> Admin() {  // by loopback
    return v1::Coordinator::NewStub(site_.LocalChannel());
  }
  std::string JoinToken(const std::string& host) {
    grpc::ClientContext context;
    v1::CreateTokenRequest request;
    request.set_owner(host);
    request.set_role("worker");
    request.set_seconds(600);
    v1::CreateTokenResponse response;
    EXPECT_TRUE(Admin()->CreateToken(&context, request, &response).ok());
    return response.text();
  }
  // With the token, or with the channel's own certificate.
  grpc::Status Certify(const std::shared_ptr<grpc::Channel>& channel, const std::string& token,
                       tls::KeyPair* certified = nullptr) {
    const std::string key = tls::MakeKey().value();
    grpc::ClientContext context;
    if (!token.empty()) context.AddMetadata("authorization", "Bearer " + token);
    v1::CertifyRequest request;
    request.set_certificate_request(tls::MakeRequest(key).value());
    v1::CertifyResponse response;
    const auto status = v1::WorkerGateway::NewStub(channel)->Certify(&context, request, &response);
    if (certified != nullptr) *certified = {response.certificate(), key};
    return status;
  }
  tls::KeyPair Join(const std::string& host) {
    tls::KeyPair certified;
    const auto status = Certify(site_.Channel(), JoinToken(host), &certified);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return certified;
  }
  v1::RevokeHostResponse Revoke(const std::string& host) {
    grpc::ClientContext context;
    v1::RevokeHostRequest request;
    request.set_host(host);
    v1::RevokeHostResponse response;
    const auto status = Admin()->RevokeHost(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  }
  // Neither a Hello nor a renewal is taken.
  void ExpectCutOff(const std::shared_ptr<grpc::Channel>& channel) {
    FakeWorker worker("a/0");
    worker.Knock(channel);
    const grpc::Status hello = worker.WaitForEnd(), renewal = Certify(channel, "");
    for (const grpc::Status& refused : {hello, renewal}) {
      EXPECT_EQ(refused.error_code(), Code::PERMISSION_DENIED);
      EXPECT_THAT(refused.error_message(), StartsWith(kWhy));
    }
  }
  // "revoke-host a, accepted", newest first.
  std::vector<std::string> Audited() {
    grpc::ClientContext context;
    v1::AuditRequest request;
    request.set_limit(100);
    v1::AuditResponse response;
    EXPECT_TRUE(Admin()->Audit(&context, request, &response).ok());
    std::vector<std::string> lines;
    for (const v1::AuditEntry& entry : response.entries())
      lines.push_back(entry.action() + " " + entry.subject() + ", " + entry.verdict());
    return lines;
  }

  static constexpr const char* kWhy =
      "the certificate of host 'a' was revoked by an admin: trainworker join obtains another";
  TlsSite site_;
};

TEST_F(RevokeHostTest, ItsConnectionsEndAndWhatItHasOpensNoOther) {
  const tls::KeyPair stolen = Join("a");
  const auto open = site_.Channel(stolen);
  FakeWorker worker("a/0");
  worker.Connect(open);
  const std::string unused = JoinToken("a");
  const v1::RevokeHostResponse revoked = Revoke("a");
  EXPECT_EQ(revoked.streams(), 1);
  EXPECT_TRUE(revoked.known());
  const grpc::Status ended = worker.WaitForEnd();
  EXPECT_EQ(ended.error_code(), Code::PERMISSION_DENIED);
  EXPECT_THAT(ended.error_message(), StartsWith(kWhy));
  ExpectCutOff(open);
  ExpectCutOff(site_.Channel(stolen));
  EXPECT_EQ(Certify(site_.Channel(), unused).error_code(), Code::PERMISSION_DENIED);
  EXPECT_THAT(Audited(), Contains("revoke-host a, accepted"));
  EXPECT_THAT(Audited(), Contains(StartsWith("connect , denied: " + std::string(kWhy))));
}

TEST_F(RevokeHostTest, ItHoldsAfterARestartAndANewTokenLetsTheHostInAgain) {
  const tls::KeyPair stolen = Join("a");
  Revoke("a");
  const tls::KeyPair anew = Join("a");
  FakeWorker("a/0").Connect(site_.Channel(anew));
  site_.Stop();
  site_.Start();
  ExpectCutOff(site_.Channel(stolen));
  FakeWorker("a/0").Connect(site_.Channel(anew));
  EXPECT_TRUE(Certify(site_.Channel(anew), "").ok()) << "it renews itself";
}

TEST_F(RevokeHostTest, OtherHostsGoOn) {
  FakeWorker worker("b/0");
  const auto channel = site_.Channel(Join("b"));
  worker.Connect(channel);
  const v1::RevokeHostResponse revoked = Revoke("a");
  EXPECT_EQ(revoked.streams(), 0);
  EXPECT_FALSE(revoked.known());
  EXPECT_TRUE(Certify(channel, "").ok());
  EXPECT_EQ(Revoke("b").streams(), 1) << "its stream was open all the time";
}

}  // namespace
}  // namespace trainctl::rpc_test
