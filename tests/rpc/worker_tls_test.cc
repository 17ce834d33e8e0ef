// A worker's own side of TLS, against a real coordinator: it joins, connects and renews.
#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <memory>
#include <optional>
#include <sstream>

#include "tests/rpc/fake_worker.h"
#include "tests/rpc/tls_site.h"
#include "worker/agent/host_keys.h"
#include "worker/agent/join.h"
#include "worker/agent/renewal.h"
#include "worker/agent/uplink.h"

namespace trainctl::rpc_test {
namespace {

using agent::HostKeys;

// Ahead of the system's by so many days.
class LaterClock : public base::Clock {
 public:
  explicit LaterClock(int64_t days) : days_(days) {}
  base::WallMicros Wall() const override {
    return base::SystemClock().Wall() + days_ * 86'400 * 1'000'000;
  }
  base::SteadyMicros Steady() const override { return base::SystemClock().Steady(); }

 private:
  const int64_t days_;
};

// A renewal of the keys' certificate, by that clock.
class Renewing {
 public:
  Renewing(const TlsSite& site, std::string keys, int64_t days)
      : clock_(days),
        renewal_(io_, clock_,
                 {.keys = std::move(keys), .read_address = [&site] { return site.address(); }}) {
    renewal_.on_end = [this](const base::Status& status) { end_ = status; };
  }
  void Start() { renewal_.Start(); }
  base::Status End() {
    while (!end_) io_.run_one();
    return *end_;
  }

 private:
  boost::asio::io_context io_;
  const LaterClock clock_;
  agent::Renewal renewal_;
  std::optional<base::Status> end_;
};

class WorkerTlsTest : public testing::Test {
 protected:
  // The file of a join token.
  std::string JoinToken(const std::string& host) {
    grpc::ClientContext context;
    v1::CreateTokenRequest request;
    request.set_owner(host);
    request.set_role("worker");
    request.set_seconds(600);
    v1::CreateTokenResponse response;
    const auto status =
        v1::Coordinator::NewStub(site_.LocalChannel())->CreateToken(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    const std::string file = site_.folder() + "/join.token";
    EXPECT_TRUE(base::WriteSecretFile(file, response.text()).ok());
    return file;
  }
  base::Status Join(const std::string& token_file, std::string ca = "", std::string address = "") {
    return agent::Join({.coordinator = address.empty() ? site_.address() : address,
                        .authority_file = ca.empty() ? site_.ca() : ca,
                        .token_file = token_file,
                        .keys = keys_,
                        .host = "a"});
  }
  std::string Certificate() const { return agent::ReadHostKeys(keys_).value().certificate; }

  TlsSite site_;
  const std::string keys_ = site_.folder() + "/worker/keys";
};

TEST_F(WorkerTlsTest, AHostJoinsOnceByATokenAndItsKeyIsItsOwn) {
  const std::string token = JoinToken("a");
  const base::Status joined = Join(token);
  ASSERT_TRUE(joined.ok()) << joined.error().message;
  struct stat status{};
  ASSERT_EQ(stat((keys_ + "/worker.key").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  const HostKeys keys = agent::ReadHostKeys(keys_).value();
  EXPECT_EQ(tls::ReadCertificate(keys.certificate).value().name, "a");
  FakeWorker("a/0").Connect(site_.Channel({keys.certificate, keys.key}));
  const base::Status again = Join(token);
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().code, base::Code::kDenied);
  EXPECT_EQ(Certificate(), keys.certificate) << "what it has is kept";
}

TEST_F(WorkerTlsTest, WhyAHostDoesNotJoinIsNamed) {
  const auto why = [](const base::Status& status) {
    return status ? std::string("it joins") : status.error().message;
  };
  EXPECT_NE(why(Join(JoinToken("b"))).find("was for host 'b', and this one is 'a'"),
            std::string::npos);
  const TlsSite other;
  EXPECT_NE(why(Join(JoinToken("a"), other.ca())).find("another authority"), std::string::npos);
  EXPECT_NE(why(Join(JoinToken("a"), "", site_.local())).find("speaks no TLS"), std::string::npos);
  const std::string token = JoinToken("a");
  ASSERT_EQ(chmod(token.c_str(), 0644), 0);
  EXPECT_NE(why(Join(token)).find("chmod 600"), std::string::npos);
  EXPECT_FALSE(agent::ReadHostKeys(keys_).ok()) << "nothing is kept";
}

TEST_F(WorkerTlsTest, AnEmptyCaOrATokenThatNoHeaderCanCarryIsNamed) {
  const std::string token = JoinToken("a"), empty = site_.folder() + "/empty.pem";
  ASSERT_TRUE(base::WriteFileAtomically(empty, "").ok());
  const base::Status anybody = Join(token, empty);
  ASSERT_FALSE(anybody.ok());
  EXPECT_EQ(anybody.error().code, base::Code::kInvalid);
  EXPECT_NE(anybody.error().message.find(empty), std::string::npos) << anybody.error().message;
  ASSERT_TRUE(base::WriteSecretFile(token, "caf\xc3\xa9").ok());
  const base::Status odd = Join(token);
  ASSERT_FALSE(odd.ok());
  EXPECT_NE(odd.error().message.find(token + " holds no token"), std::string::npos)
      << odd.error().message;
  ASSERT_TRUE(Join(JoinToken("a")).ok());
  ASSERT_TRUE(base::WriteFileAtomically(keys_ + "/ca.pem", "").ok());
  EXPECT_FALSE(agent::ReadHostKeys(keys_).ok());
}

// What the log says of an uplink that does not come about, once it has been said.
std::string WhyNotUp(const std::string& coordinator) {
  std::ostringstream said;
  const auto before = spdlog::default_logger();
  spdlog::set_default_logger(std::make_shared<spdlog::logger>(
      "test", std::make_shared<spdlog::sinks::ostream_sink_mt>(said)));
  boost::asio::io_context io;
  agent::UplinkOptions options;
  options.coordinator = coordinator;
  options.patience = kDeadline;
  bool is_up = false;
  agent::Uplink uplink(io, options,
                       {.on_up = [&](const std::string&) { is_up = true; },
                        .on_message = [](const v1::CoordinatorMessage&) {},
                        .on_writable = [] {},
                        .on_down = [](const base::Error&) {}});
  uplink.Start();
  while (said.str().empty() && !is_up) io.run_one();
  spdlog::set_default_logger(before);
  return is_up ? "it is up" : said.str();
}

TEST_F(WorkerTlsTest, WithoutKeysTheUplinkGoesToLoopbackAlone) {
  EXPECT_NE(WhyNotUp("192.0.2.1:7070")
                .find("192.0.2.1:7070 is not on this host: over the network a worker needs --keys"),
            std::string::npos);
  EXPECT_EQ(WhyNotUp(site_.local()), "it is up");
}

TEST_F(WorkerTlsTest, TheUplinkConnectsWithTheHostsKeys) {
  ASSERT_TRUE(Join(JoinToken("a")).ok());
  boost::asio::io_context io;
  const auto work = boost::asio::make_work_guard(io);
  agent::UplinkOptions options;
  options.coordinator = site_.address();
  options.keys = keys_;
  options.patience = kDeadline;
  bool is_welcome = false;
  std::string reason;
  agent::Uplink* uplink = nullptr;
  agent::Uplink made(io, options,
                     {.on_up =
                          [&](const std::string&) {
                            v1::WorkerMessage message;
                            v1::Hello* hello = message.mutable_hello();
                            hello->set_name("a/0");
                            hello->set_host("a");
                            hello->mutable_device()->set_kind("cpu");
                            hello->mutable_device()->set_uuid("cpu:a/0");
                            hello->mutable_device()->set_name("CPU slot");
                            hello->mutable_device()->set_memory_bytes(int64_t{8} << 30);
                            hello->mutable_device()->set_threads(1);
                            uplink->Send(std::move(message));
                          },
                      .on_message =
                          [&](const v1::CoordinatorMessage& message) {
                            is_welcome = is_welcome || message.has_welcome();
                          },
                      .on_writable = [] {},
                      .on_down = [&](const base::Error& error) { reason = error.message; }});
  uplink = &made;
  made.Start();
  while (!is_welcome && reason.empty()) io.run_one();
  EXPECT_TRUE(is_welcome) << reason;
}

TEST_F(WorkerTlsTest, TheUplinkNamesWhatIsWrongWithTheCoordinatorsCertificate) {
  ASSERT_TRUE(Join(JoinToken("a")).ok());
  const TlsSite other;
  boost::asio::io_context io;
  const auto work = boost::asio::make_work_guard(io);
  agent::UplinkOptions options;
  options.coordinator = other.address();
  options.keys = keys_;
  options.patience = kDeadline;
  std::string reason;
  agent::Uplink uplink(io, options,
                       {.on_up = [](const std::string&) {},
                        .on_message = [](const v1::CoordinatorMessage&) {},
                        .on_writable = [] {},
                        .on_down = [&](const base::Error& error) { reason = error.message; }});
  uplink.Start();
  while (reason.empty()) io.run_one();
  EXPECT_NE(reason.find("another authority"), std::string::npos) << reason;
}

TEST_F(WorkerTlsTest, ACertificateIsRenewedWithItsOwnKeyPastHalfOfItsLife) {
  ASSERT_TRUE(Join(JoinToken("a")).ok());
  const HostKeys before = agent::ReadHostKeys(keys_).value();
  const auto renew = [&](int64_t days) {
    Renewing renewing(site_, keys_, days);
    renewing.Start();
    return renewing.End();
  };
  const auto age = [&](int64_t days) { return agent::AgeOf(before, LaterClock(days).Wall()); };
  EXPECT_EQ(age(-1), agent::CertificateAge::kUnborn);
  EXPECT_EQ(age(0), agent::CertificateAge::kYoung);
  EXPECT_EQ(age(3), agent::CertificateAge::kYoung);
  EXPECT_EQ(age(4), agent::CertificateAge::kOld);
  EXPECT_EQ(age(6), agent::CertificateAge::kOld);
  EXPECT_EQ(age(7), agent::CertificateAge::kExpired);
  const base::Status renewed = renew(4);
  ASSERT_TRUE(renewed.ok()) << renewed.error().message;
  const HostKeys after = agent::ReadHostKeys(keys_).value();
  EXPECT_NE(after.certificate, before.certificate);
  EXPECT_EQ(after.key, before.key);
  FakeWorker("a/0").Connect(site_.Channel({after.certificate, after.key}));
  const base::Status late = renew(8);
  ASSERT_FALSE(late.ok());
  EXPECT_NE(late.error().message.find("it has expired: trainworker join"), std::string::npos);
  const base::Status early = renew(-1);
  ASSERT_FALSE(early.ok());
  EXPECT_NE(early.error().message.find("not valid yet: set the clock"), std::string::npos);
  EXPECT_NE(early.error().message.find("trainworker join"), std::string::npos);
}

// The coordinator's clock is a day ahead: what it certifies is good only then.
TEST_F(WorkerTlsTest, ACertificateThatIsNotValidYetTakesTheOlderOnesPlaceNowhere) {
  ASSERT_TRUE(Join(JoinToken("a")).ok());
  const std::string before = Certificate();
  Renewing renewing(site_, keys_, /*days=*/4);
  site_.Advance(5);
  renewing.Start();
  const base::Status end = renewing.End();
  ASSERT_FALSE(end.ok());
  EXPECT_NE(end.error().message.find("the new one is not valid yet"), std::string::npos)
      << end.error().message;
  EXPECT_EQ(Certificate(), before);
}

TEST_F(WorkerTlsTest, ARenewalThatANewKeyOfTheHostOvertakesIsDropped) {
  ASSERT_TRUE(Join(JoinToken("a")).ok());
  Renewing renewing(site_, keys_, /*days=*/4);
  renewing.Start();
  ASSERT_TRUE(Join(JoinToken("a")).ok());
  const HostKeys joined = agent::ReadHostKeys(keys_).value();
  const base::Status end = renewing.End();
  ASSERT_FALSE(end.ok()) << "the new key has the old one's certificate";
  EXPECT_EQ(end.error().code, base::Code::kConflict) << end.error().message;
  EXPECT_EQ(Certificate(), joined.certificate);
}

TEST_F(WorkerTlsTest, WithoutKeysItIsSaidHowToMakeThem) {
  const auto keys = agent::ReadHostKeys(keys_);
  ASSERT_FALSE(keys.ok());
  EXPECT_NE(keys.error().message.find("trainworker join"), std::string::npos);
}

}  // namespace
}  // namespace trainctl::rpc_test
