// trainctl, by contexts and tokens, against a real coordinator that serves TLS.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "client/exit_code.h"
#include "client/grpc_api.h"
#include "client/show/output.h"
#include "client/verbs/program.h"
#include "tests/rpc/fake_worker.h"
#include "tests/rpc/tls_site.h"
#include "tests/rpc/trainctl_site.h"

namespace trainctl::rpc_test {
namespace {

using client::Json;

class TlsTest : public testing::Test {
 protected:
  Ended RunWith(const std::string& context, const std::vector<std::string>& words) {
    std::ostringstream out, err;
    std::istringstream in;
    client::Surroundings surroundings;
    surroundings.in = &in;
    surroundings.out = &out;
    surroundings.err = &err;
    surroundings.clock = &TlsSite::Now();
    surroundings.environment_context = context;
    surroundings.configuration_file = configuration_;
    surroundings.connect = [](const client::NamedServer& server) {
      return client::ConnectGrpc(server, "", kDeadline);
    };
    const int code = client::RunProgram(words, surroundings);
    return {code, out.str(), err.str()};
  }
  Ended Run(const std::vector<std::string>& words) { return RunWith("", words); }

  // A context with this token file; the site's address, unless another is named.
  void Add(const std::string& name, const std::string& token_file, std::string address = "") {
    if (address.empty()) address = site_.address();
    const Ended added = Run({"context", "add", name, "--address", address, "--ca", site_.ca(),
                             "--token-file", token_file});
    ASSERT_EQ(added.code, client::kExitOk) << added.err;
  }
  // The file of a new token.
  std::string TokenOf(const std::string& user, const std::string& role) {
    const std::string file = site_.folder() + "/" + user + ".token";
    const Ended made =
        RunWith("admin", {"admin", "token", "create", user, "--role", role, "--to", file});
    EXPECT_EQ(made.code, client::kExitOk) << made.err;
    return file;
  }
  void Expect(const Ended& ended, int code, const std::string& part) {
    EXPECT_EQ(ended.code, code) << ended.err;
    EXPECT_NE(ended.err.find(part), std::string::npos) << ended.err;
  }

  TlsSite site_;
  const std::string configuration_ = site_.folder() + "/config/trainctl/config.json";
};

TEST_F(TlsTest, TheAdminComesWithTheTokenOfInitAndMakesOthers) {
  Add("admin", site_.admin());
  EXPECT_EQ(Run({"status"}).code, client::kExitOk);
  Add("anna", TokenOf("anna", "user"));
  EXPECT_EQ(RunWith("anna", {"workers"}).code, client::kExitOk);
  Expect(RunWith("anna", {"admin", "audit"}), client::kExitDenied,
         "anna is a user: Audit needs the role admin");
  const Json tokens = Json::parse(Run({"admin", "token", "ls", "-o", "json"}).out)["tokens"];
  ASSERT_EQ(tokens.size(), 2u);
  EXPECT_EQ(tokens[1]["owner"], "anna");
  EXPECT_EQ(tokens[1]["role"], "user");
  EXPECT_FALSE(tokens[1].contains("token"));
}

TEST_F(TlsTest, ATokenThatIsRevokedIsNoneAndSecretsAreInNoAuditLog) {
  Add("admin", site_.admin());
  const std::string file = TokenOf("anna", "viewer");
  Add("anna", file);
  EXPECT_EQ(RunWith("anna", {"status"}).code, client::kExitOk);
  EXPECT_EQ(Run({"admin", "token", "revoke", "2"}).code, client::kExitOk);
  Expect(RunWith("anna", {"status"}), client::kExitDenied, "was revoked");
  site_.Stop();
  site_.Start();
  Add("admin", site_.admin());
  Add("anna", file);
  Expect(RunWith("anna", {"status"}), client::kExitDenied, "was revoked");
  const std::string log = Run({"admin", "audit", "-o", "json"}).out;
  EXPECT_EQ(log.find(base::ReadSecretFile(file).value()), std::string::npos);
  const Json entries = Json::parse(log)["audit"];
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[0]["action"], "revoke-token");
  EXPECT_EQ(entries[1]["action"], "create-token");
  EXPECT_EQ(entries[1]["subject"], "2 of anna, viewer");
  EXPECT_EQ(entries[1]["actor"], "admin");
  EXPECT_EQ(std::string(entries[1]["address"]).find("127.0.0.1:"), 0u);
}

TEST_F(TlsTest, AStreamEndsWithTheTokenByWhichItIsOpen) {
  Add("admin", site_.admin());
  for (const bool expires : {false, true}) {
    const std::string file = TokenOf(expires ? "bob" : "anna", "user");
    const std::string token = base::ReadSecretFile(file).value();
    const auto stub = v1::Coordinator::NewStub(site_.Channel());
    const auto local = v1::Coordinator::NewStub(site_.LocalChannel());
    v1::SubmitRequest request;
    request.set_request_id(expires ? "one" : "two");
    request.add_jobs()->set_job_json(JobJson("waits"));
    request.mutable_jobs(0)->set_inspection_json(InspectionJson());
    v1::SubmitResponse submitted;
    grpc::ClientContext submit, watch;
    submit.AddMetadata("authorization", "Bearer " + token);
    ASSERT_TRUE(stub->Submit(&submit, request, &submitted).ok());
    watch.AddMetadata("authorization", "Bearer " + token);
    watch.set_deadline(std::chrono::system_clock::now() + kDeadline);
    v1::WatchRequest watched;
    watched.add_jobs(submitted.jobs(0).id());
    const auto stream = stub->Watch(&watch, watched);
    v1::JobView view;
    ASSERT_TRUE(stream->Read(&view));
    if (expires) {
      site_.Advance(400);
      v1::CancelRequest cancel;
      cancel.add_jobs(submitted.jobs(0).id());
      v1::CancelResponse cancelled;
      grpc::ClientContext as_root;
      ASSERT_TRUE(local->Cancel(&as_root, cancel, &cancelled).ok());
    } else {
      EXPECT_EQ(Run({"admin", "token", "revoke", "2"}).code, client::kExitOk);
    }
    while (stream->Read(&view)) {  // what was on its way before
    }
    const grpc::Status ended = stream->Finish();
    EXPECT_EQ(ended.error_code(), grpc::StatusCode::PERMISSION_DENIED);
    EXPECT_NE(ended.error_message().find(expires ? "has expired" : "was revoked"),
              std::string::npos)
        << ended.error_message();
  }
}

TEST_F(TlsTest, WhoSubmitsIsTheOwnerOfTheToken) {
  Add("admin", site_.admin());
  Add("anna", TokenOf("anna", "user"));
  const std::string token = base::ReadSecretFile(site_.folder() + "/anna.token").value();
  const auto stub = v1::Coordinator::NewStub(site_.Channel());
  grpc::ClientContext context;
  context.AddMetadata("authorization", "Bearer " + token);
  v1::SubmitRequest request;
  request.set_request_id("one");
  request.add_jobs()->set_job_json(JobJson("hers"));
  request.mutable_jobs(0)->set_inspection_json(InspectionJson());
  v1::SubmitResponse response;
  const grpc::Status status = stub->Submit(&context, request, &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(Json::parse(Run({"status", "-o", "json"}).out)["jobs"][0]["owner"], "anna");
  Add("bob", TokenOf("bob", "user"));
  Expect(RunWith("bob", {"cancel", "j1"}), client::kExitDenied,
         "job j1 belongs to anna: ask them or an operator");
}

TEST_F(TlsTest, WithoutATokenOrWithAnotherNobodyIsLetIn) {
  const auto stub = v1::Coordinator::NewStub(site_.Channel());
  const std::string admin = base::ReadSecretFile(site_.admin()).value();
  for (const std::string& value : {std::string(), "Bearer " + admin.substr(1), "Basic " + admin,
                                   admin, std::string("Bearer ")}) {
    grpc::ClientContext context;
    if (!value.empty()) context.AddMetadata("authorization", value);
    v1::ListResponse response;
    const grpc::Status status = stub->List(&context, {}, &response);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::PERMISSION_DENIED) << value.size();
    EXPECT_EQ(status.error_message().find(admin), std::string::npos);
  }
}

TEST_F(TlsTest, LoopbackBesideItIsOfTheUnixUserAsEver) {
  EXPECT_EQ(Run({"status", "--server", site_.local()}).code, client::kExitOk);
  const auto stub = v1::Coordinator::NewStub(site_.LocalChannel());
  grpc::ClientContext context;
  context.AddMetadata("authorization", "Bearer nonsense");
  v1::AuditRequest request;
  request.set_limit(1);
  v1::AuditResponse response;
  const grpc::Status status = stub->Audit(&context, request, &response);
  EXPECT_TRUE(status.ok()) << "a token there means nothing: " << status.error_message();
}

TEST_F(TlsTest, AnotherAuthorityIsNamed) {
  const TlsSite other;
  Add("admin", site_.admin());
  const Ended ended = Run({"context", "add", "wrong", "--address", site_.address(), "--ca",
                           other.ca(), "--token-file", site_.admin()});
  ASSERT_EQ(ended.code, client::kExitOk) << ended.err;
  Expect(RunWith("wrong", {"status"}), client::kExitDenied,
         "context wrong: " + site_.address() + " can't be trusted: another authority");
}

TEST_F(TlsTest, TlsToAPortWithoutItIsNamed) {
  Add("plain", site_.admin(), site_.local());
  Expect(Run({"status"}), client::kExitDenied, site_.local() + " speaks no TLS");
}

TEST_F(TlsTest, APortWithTlsThatIsCalledWithoutItIsNamed) {
  Expect(Run({"status", "--server", site_.address()}), client::kExitDenied,
         site_.address() + " speaks TLS: name it with its CA and a token");
}

TEST_F(TlsTest, ElsewhereNothingIsSaidWithoutTls) {
  const base::Result<v1::ListResponse> listed =
      client::ConnectGrpc({.address = "192.0.2.1:7070"})->List({});
  ASSERT_FALSE(listed.ok());
  EXPECT_EQ(listed.error().code, base::Code::kDenied);
  EXPECT_NE(listed.error().message.find("192.0.2.1:7070 is not on this host"), std::string::npos);
  const auto half = client::ConnectGrpc({.address = site_.local(), .context = "lab"})->List({});
  ASSERT_FALSE(half.ok()) << "a context without files is none of loopback";
  EXPECT_EQ(half.error().message.find("context lab: "), 0u) << half.error().message;
}

TEST_F(TlsTest, AnEmptyCaFileIsNotTheWebsAuthorities) {
  Add("admin", site_.admin());
  const std::string whole = base::ReadFile(site_.ca(), 1 << 20).value();
  ASSERT_TRUE(base::WriteFileAtomically(site_.ca(), "").ok());
  const Ended ended = Run({"status"});
  EXPECT_NE(ended.err.find("expected the site's ca.pem"), std::string::npos) << ended.err;
  ASSERT_TRUE(base::WriteFileAtomically(site_.ca(), whole).ok());
  EXPECT_EQ(Run({"status"}).code, client::kExitOk);
}

TEST_F(TlsTest, ATokenThatNoHeaderCanCarryIsNamed) {
  Add("admin", site_.admin());
  ASSERT_TRUE(base::WriteSecretFile(site_.admin(), "caf\xc3\xa9").ok());
  const Ended ended = Run({"status"});
  EXPECT_NE(ended.err.find(site_.admin() + " holds no token"), std::string::npos) << ended.err;
}

TEST_F(TlsTest, ATokenFileThatOthersCanReadIsRefused) {
  Add("admin", site_.admin());
  ASSERT_EQ(chmod(site_.admin().c_str(), 0640), 0);
  Expect(Run({"status"}), client::kExitDenied, "chmod 600 " + site_.admin());
}

// What List answers who trusts the site's own authority.
base::Error ErrorOf(const TlsSite& site) {
  client::NamedServer server{.address = site.address(), .context = "lab"};
  server.ca_file = site.ca();
  server.token_file = site.admin();
  const auto listed = client::ConnectGrpc(server, "", kDeadline)->List({});
  return listed ? base::Error{base::Code::kInternal, "it answers"} : listed.error();
}

TEST(TlsCertificate, ThatHasExpiredIsNamed) {
  const base::FakeClock long_ago;
  const base::Error error = ErrorOf(TlsSite(long_ago));
  EXPECT_EQ(error.code, base::Code::kDenied);
  EXPECT_NE(error.message.find("its certificate expired on 19"), std::string::npos)
      << error.message;
}

TEST(TlsCertificate, OfAnotherNameIsNamedWithItsOwnNames) {
  const TlsSite site(TlsSite::Now(), "127.0.0.2:0");
  const base::Error error = ErrorOf(site);
  EXPECT_EQ(error.code, base::Code::kDenied);
  EXPECT_NE(error.message.find("its certificate is not for '127.0.0.2' but for gpu-host, "
                               "localhost, 127.0.0.1, ::1"),
            std::string::npos)
      << error.message;
}

// ---- workers ----

class TlsWorkersTest : public TlsTest {
 protected:
  std::string JoinToken(const std::string& host) {
    const std::string file = site_.folder() + "/join.token";
    const Ended made = RunWith("admin", {"admin", "worker-token", host, "--to", file});
    EXPECT_EQ(made.code, client::kExitOk) << made.err;
    return base::ReadSecretFile(file).value();
  }
  base::Result<tls::KeyPair> Certify(const std::shared_ptr<grpc::Channel>& channel,
                                     const std::string& token) {
    const std::string key = tls::MakeKey().value();
    grpc::ClientContext context;
    if (!token.empty()) context.AddMetadata("authorization", "Bearer " + token);
    v1::CertifyRequest request;
    request.set_certificate_request(tls::MakeRequest(key).value());
    v1::CertifyResponse response;
    const auto status = v1::WorkerGateway::NewStub(channel)->Certify(&context, request, &response);
    if (status.ok()) return tls::KeyPair{response.certificate(), key};
    return base::Error{base::Code::kDenied, status.error_message()};
  }
};

TEST_F(TlsWorkersTest, AJoinTokenIsGoodForOneCertificateWithWhichTheHostsWorkersConnect) {
  Add("admin", site_.admin());
  const std::string token = JoinToken("a");
  const auto certificate = Certify(site_.Channel(), token);
  ASSERT_TRUE(certificate.ok()) << certificate.error().message;
  const auto again = Certify(site_.Channel(), token);
  ASSERT_FALSE(again.ok());
  EXPECT_NE(again.error().message.find("not known here"), std::string::npos);
  FakeWorker worker("a/0");
  worker.Connect(site_.Channel(*certificate));
  const Json workers = Json::parse(Run({"workers", "-o", "json"}).out)["workers"];
  ASSERT_EQ(workers.size(), 1u);
  EXPECT_EQ(workers[0]["name"], "a/0");
  const Json log = Json::parse(Run({"admin", "audit", "-o", "json"}).out)["audit"];
  EXPECT_EQ(log[0]["action"], "certify");
  EXPECT_NE(log[0]["verdict"], "accepted");
  EXPECT_EQ(log[1]["action"], "certify");
  EXPECT_EQ(log[1]["actor"], "worker:a");
}

TEST_F(TlsWorkersTest, ACertificateRenewsItselfAndIsNoPerson) {
  Add("admin", site_.admin());
  const auto first = Certify(site_.Channel(), JoinToken("a")).value();
  const auto second = Certify(site_.Channel(first), "");
  ASSERT_TRUE(second.ok()) << second.error().message;
  EXPECT_EQ(tls::ReadCertificate(second->certificate).value().name, "a");
  FakeWorker("a/0").Connect(site_.Channel(*second));
  grpc::ClientContext context;
  v1::ListResponse response;
  EXPECT_EQ(
      v1::Coordinator::NewStub(site_.Channel(first))->List(&context, {}, &response).error_code(),
      grpc::StatusCode::PERMISSION_DENIED);
}

TEST_F(TlsWorkersTest, WithoutACertificateOrWithAnothersNoWorkerConnects) {
  Add("admin", site_.admin());
  FakeWorker bare("a/0");
  bare.Knock(site_.Channel());
  EXPECT_EQ(bare.WaitForEnd().error_code(), grpc::StatusCode::PERMISSION_DENIED);
  const auto of_b = Certify(site_.Channel(), JoinToken("b")).value();
  FakeWorker other("a/0");
  other.Knock(site_.Channel(of_b));
  const grpc::Status refused = other.WaitForEnd();
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_NE(refused.error_message().find("has a certificate for host 'b'"), std::string::npos)
      << refused.error_message();
  const TlsSite elsewhere;
  const auto foreign = auth::SiteKeys::Open(elsewhere.keys(), TlsSite::Now())
                           .value()
                           ->CertifyWorker("a", tls::MakeRequest(of_b.key).value())
                           .value();
  FakeWorker stranger("a/0");
  stranger.Knock(site_.Channel({foreign, of_b.key}));
  EXPECT_EQ(stranger.WaitForEnd().error_code(), grpc::StatusCode::UNAVAILABLE)
      << "the handshake fails";
  EXPECT_TRUE(Json::parse(Run({"workers", "-o", "json"}).out)["workers"].empty());
}

TEST_F(TlsWorkersTest, AnExpiredCertificateIsNoHandshake) {
  Add("admin", site_.admin());
  const std::string key = tls::MakeKey().value();
  const base::FakeClock long_ago;
  const auto expired = auth::SiteKeys::Open(site_.keys(), long_ago)
                           .value()
                           ->CertifyWorker("a", tls::MakeRequest(key).value())
                           .value();
  FakeWorker late("a/0");
  late.Knock(site_.Channel({expired, key}));
  EXPECT_EQ(late.WaitForEnd().error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST_F(TlsWorkersTest, ACertificateThatExpiresIsNoneOnAnOpenChannelEither) {
  Add("admin", site_.admin());
  const auto channel = site_.Channel(Certify(site_.Channel(), JoinToken("a")).value());
  site_.Advance(6);
  ASSERT_TRUE(Certify(channel, "").ok());
  site_.Advance(2);
  const auto renewed = Certify(channel, "");
  ASSERT_FALSE(renewed.ok()) << "it renews itself for ever";
  EXPECT_EQ(renewed.error().message.find("the certificate of host 'a' has expired: trainworker"),
            0u)
      << renewed.error().message;
  FakeWorker late("a/0");
  late.Knock(channel);
  EXPECT_EQ(late.WaitForEnd().error_code(), grpc::StatusCode::PERMISSION_DENIED);
}

TEST_F(TlsWorkersTest, AHostIsRevokedByAnAdminAndANameThatNobodyKnowsIsDoubted) {
  Add("admin", site_.admin());
  FakeWorker worker("a/0");
  worker.Connect(site_.Channel(Certify(site_.Channel(), JoinToken("a")).value()));
  EXPECT_EQ(Run({"admin", "revoke-host", "a"}).out,
            "Revoked what workers of a came by: 1 connection ended. trainctl admin worker-token a "
            "lets it in again.\n");
  EXPECT_EQ(worker.WaitForEnd().error_code(), grpc::StatusCode::PERMISSION_DENIED);
  const Ended revoked = Run({"admin", "revoke-host", "gpu-7"});
  EXPECT_EQ(revoked.code, client::kExitOk) << revoked.err;
  EXPECT_NE(revoked.out.find("No worker of a host 'gpu-7' has ever registered"), std::string::npos);
  Expect(Run({"admin", "revoke-host", "gpu-7/0"}), client::kExitUsage, "expected a host's name");
  Add("ops", TokenOf("ops", "operator"));
  Expect(RunWith("ops", {"admin", "revoke-host", "gpu-7"}), client::kExitDenied, "admin");
}

TEST_F(TlsWorkersTest, OnLoopbackAWorkerNeedsAndGetsNoCertificate) {
  FakeWorker("a/0").Connect(site_.LocalChannel());
  const auto none = Certify(site_.LocalChannel(), "");
  ASSERT_FALSE(none.ok());
  EXPECT_NE(none.error().message.find("this one needs none"), std::string::npos);
}

}  // namespace
}  // namespace trainctl::rpc_test
