// A coordinator in the test's own process that serves TLS, and beside it loopback without.
#pragma once

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>

#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "common/base/clock.h"
#include "common/base/file.h"
#include "common/base/secret_file.h"
#include "server/auth/site_keys.h"
#include "server/daemon/daemon.h"
#include "tests/rpc/temporary_folder.h"
#include "tests/rpc/test_site.h"

namespace trainctl::rpc_test {

// The system's, but for what it is told to be ahead. Thread-safe.
class AheadClock : public base::Clock {
 public:
  base::WallMicros Wall() const override { return base::SystemClock().Wall() + ahead_; }
  base::SteadyMicros Steady() const override { return base::SystemClock().Steady(); }
  void Advance(int64_t days) { ahead_ += days * 86'400 * 1'000'000; }

 private:
  std::atomic<int64_t> ahead_ = 0;
};

class TlsSite {
 public:
  // made: the clock by which the keys are made. Their certificate is for 127.0.0.1.
  explicit TlsSite(const base::Clock& made = Now(), std::string listen = "127.0.0.1:0",
                   const auth::UserBounds& bounds = {})
      : listen_(std::move(listen)), bounds_(bounds) {
    CHECK(auth::InitSite(keys(), {"gpu-host"}, made).ok());
    Start();
  }

  void Start() {
    coordinator::Options options;
    options.listen = listen_;
    options.listen_local = "127.0.0.1:0";
    options.dashboard_tls = "127.0.0.1:0";
    options.site_keys = keys();
    options.directory = folder_.path() + "/site";
    options.bounds = bounds_;
    auto daemon = coordinator::Daemon::Start(options, clock_, log_);
    CHECK(daemon.ok()) << daemon.error().message;
    daemon_ = std::move(*daemon);
  }
  void Stop() { daemon_.reset(); }
  // The coordinator's time alone: handshakes go by the machine's.
  void Advance(int64_t days) { clock_.Advance(days); }

  static const base::Clock& Now() {
    static const base::SystemClock clock;
    return clock;
  }

  std::string database() const { return folder_.path() + "/site/coordinator.db"; }
  const std::string& folder() const { return folder_.path(); }
  std::string keys() const { return folder_.path() + "/keys"; }
  std::string ca() const { return keys() + "/ca.pem"; }
  std::string admin() const { return keys() + "/admin.token"; }
  const std::string& local() const { return daemon_->address(); }
  const std::string& address() const { return daemon_->tls_address(); }
  std::string dashboard() const { return daemon_->dashboard_tls(); }

  // With the certificate of a worker, or with none.
  std::shared_ptr<grpc::Channel> Channel(const tls::KeyPair& worker = {}) const {
    grpc::SslCredentialsOptions options;
    options.pem_root_certs = base::ReadFile(ca(), 1 << 20).value();
    options.pem_cert_chain = worker.certificate;
    options.pem_private_key = worker.key;
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    return grpc::CreateCustomChannel(address(), grpc::SslCredentials(options), arguments);
  }
  std::shared_ptr<grpc::Channel> LocalChannel() const {
    return grpc::CreateChannel(local(), grpc::InsecureChannelCredentials());
  }

 private:
  const std::string listen_;
  const auth::UserBounds bounds_;
  TemporaryFolder folder_;
  AheadClock clock_;
  QuietLog log_;
  std::unique_ptr<coordinator::Daemon> daemon_;
};

}  // namespace trainctl::rpc_test
