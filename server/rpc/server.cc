#include "server/rpc/server.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/server_posix.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "common/peer/socket_address.h"
#include "server/rpc/acceptor.h"
#include "server/rpc/backend.h"
#include "server/rpc/connections.h"
#include "server/rpc/coordinator_service.h"
#include "server/rpc/gateway_service.h"
#include "server/rpc/health_service.h"
#include "server/rpc/reflection_bound.h"

namespace trainctl::rpc {
namespace {

constexpr auto kStopDeadline = std::chrono::seconds(2);
constexpr auto kStalledPeriod =
    std::chrono::seconds(1);  // in which clients that don't read are found
constexpr int kMinStreamsPerConnection = 256;
constexpr size_t kBufferBytes = size_t{1} << 30;  // of all connections; then gRPC ends streams
constexpr size_t kMostStreams = 1024;
constexpr size_t kMostWorkers = 4096;
constexpr size_t kMostWorkersOfUser = kMostWorkers / 4;
constexpr int kKeepaliveMillis = 10'000;
constexpr int kKeepaliveTimeoutMillis = 5'000;
constexpr int kHandshakeMillis = 10'000;  // of TLS; then the connection is closed
constexpr int kShortestPingMillis =
    1'000;  // workers ping, so that they learn soon that the coordinator's host is gone

// What gRPC holds of what nobody has asked to read: little. A stream's window does not grow, and
// no message is unpacked to a thousand times its size.
void BoundBuffers(const auth::UserBounds& bounds, grpc::ServerBuilder* builder) {
  builder->SetMaxReceiveMessageSize(Server::kMaxMessageBytes);
  const auto streams = static_cast<int>(std::min<int64_t>(2 * bounds.streams, 1 << 16));
  builder->AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS,
                              std::max(kMinStreamsPerConnection, streams));
  builder->AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  for (const auto packed : {GRPC_COMPRESS_DEFLATE, GRPC_COMPRESS_GZIP})
    builder->SetCompressionAlgorithmSupportStatus(packed, false);
  grpc::ResourceQuota quota("coordinator");
  builder->SetResourceQuota(quota.Resize(kBufferBytes));
}

// Idle connections are pinged in both directions: a peer whose host vanished is noticed without
// waiting for TCP.
void SetChannelArguments(grpc::ServerBuilder* builder) {
  builder->SetMaxSendMessageSize(-1);
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMillis);
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveTimeoutMillis);
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder->AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                              kShortestPingMillis);
  builder->AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, kHandshakeMillis);
}

// People have no certificate but a token. A certificate that a client has must be good.
std::shared_ptr<grpc::ServerCredentials> CredentialsOf(const auth::SiteKeys& keys) {
  grpc::SslServerCredentialsOptions options(GRPC_SSL_REQUEST_CLIENT_CERTIFICATE_AND_VERIFY);
  options.pem_root_certs = keys.authority();
  options.pem_key_cert_pairs.push_back({keys.coordinator().key, keys.coordinator().certificate});
  return grpc::SslServerCredentials(options);
}

// A quarter of the descriptors is for files.
Connections::Bounds BoundsOf(const auth::UserBounds& bounds) {
  Connections::Bounds all{.of_user = static_cast<size_t>(bounds.connections)};
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
    all.all = std::min<size_t>(all.all, limit.rlim_cur / 4 * 3);
  return all;
}

// Until nobody holds the budget any more.
void EndStalledFromNowOn(const Backend& backend) {
  backend.loop.Post([&loop = backend.loop, &meters = backend.meters,
                     answers = std::weak_ptr<AnswerBudget>(backend.answers)] {
    loop.Every(kStalledPeriod, [&meters, answers] {
      if (const auto held = answers.lock()) held->EndStalled(meters.Now());
    });
  });
}

// nullopt: it is gone already.
std::optional<Connection> Unproven(const peer::OpenFile& connection) {
  const auto client = peer::OtherEnd(connection.get());
  if (!client) return std::nullopt;
  return Connection{peer::ToString(*client), base::Error{base::Code::kDenied, "over TLS"}, true};
}

// Whose a new connection is. nullopt: it is gone already.
std::optional<Connection> Prove(const peer::OpenFile& connection) {
  const auto client = peer::OtherEnd(connection.get());
  const auto own = peer::OwnEnd(connection.get());
  if (!client || !own) return std::nullopt;
  const std::string address = peer::ToString(*client);
  const auto user = peer::OwnerOfSocket(*client, *own);
  if (user) return Connection{address, auth::UnixUser{*user, peer::UserName(*user)}};
  if (!peer::Stands(*own, *client) || !peer::Stands(*client, *own)) return std::nullopt;
  return Connection{address, user.error()};
}

}  // namespace

struct Server::Services {
  explicit Services(const Parts& parts)
      : connections(parts.policy, BoundsOf(parts.bounds)),
        gate(connections, parts.rate, parts.policy, parts.keys),
        backend{.loop = parts.loop,
                .reads = parts.reads,
                .backups = parts.backups,
                .coordinator = parts.coordinator,
                .log = parts.log,
                .gate = gate,
                .meters = parts.meters,
                .keys = parts.keys,
                .sign_ins = parts.sign_ins,
                .client_streams = StreamSet(
                    {.all = kMostStreams, .of_user = static_cast<size_t>(parts.bounds.streams)}),
                .worker_streams = StreamSet({.all = kMostWorkers, .of_user = kMostWorkersOfUser}),
                .answers = parts.answers},
        coordinator(backend, parts.version, parts.dashboards),
        gateway(backend),
        health(backend.requests) {
    EndStalledFromNowOn(backend);
  }

  // gRPC gets it once it is known whose it is.
  void Take(peer::OpenFile connection) {
    auto proven = Prove(connection);
    if (proven && connections.Add(connection.get(), std::move(*proven)))
      grpc::AddInsecureChannelFromFd(server.get(), connection.Take());
  }

  void TakeTls(peer::OpenFile connection) {
    auto unproven = Unproven(connection);
    if (!unproven || !connections.Add(connection.get(), std::move(*unproven))) return;
    grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters parameters;
    parameters.fd = connection.Take();
    tls->HandleNewConnection(&parameters);
  }

  Connections connections;
  Gate gate;
  Backend backend;
  CoordinatorService coordinator;
  GatewayService gateway;
  HealthService health;
  std::unique_ptr<grpc::Server> server;
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> tls;  // null: none is served
  std::vector<std::unique_ptr<Acceptor>> acceptors;
};

Server::Server() = default;

base::Result<std::unique_ptr<Server>> Server::Start(std::vector<auth::ListenAddress> addresses,
                                                    const Parts& parts) {
  std::unique_ptr<Server> server(new Server());
  server->addresses_ = std::move(addresses);
  server->loop_ = &parts.loop;
  server->services_ = std::make_unique<Services>(parts);
  Services& services = *server->services_;
  for (auth::ListenAddress& address : server->addresses_) {
    CHECK(!address.tls || parts.keys != nullptr) << auth::ToString(address);
    auto acceptor = Acceptor::Listen(address);
    if (!acceptor) return acceptor.error();
    address.port = (*acceptor)->port();
    services.acceptors.push_back(std::move(*acceptor));
  }
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::ServerBuilder builder;
  SetChannelArguments(&builder);
  BoundBuffers(parts.bounds, &builder);
  builder.RegisterService(services.coordinator.methods());
  builder.RegisterService(services.gateway.methods());
  builder.RegisterService(&services.health);
  std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>> interceptors;
  interceptors.push_back(std::make_unique<ReflectionBound>());
  builder.experimental().SetInterceptorCreators(std::move(interceptors));
  if (parts.keys != nullptr) {
    using Type = grpc::ServerBuilder::experimental_type::ExternalConnectionType;
    services.tls = builder.experimental().AddExternalConnectionAcceptor(Type::FROM_FD,
                                                                        CredentialsOf(*parts.keys));
  }
  services.server = builder.BuildAndStart();
  if (services.server == nullptr) return base::Error{base::Code::kIo, "gRPC does not start"};
  server->Accept();
  return server;
}

void Server::Accept() {
  for (size_t i = 0; i < addresses_.size(); ++i) {
    const auto take = addresses_[i].tls ? &Services::TakeTls : &Services::Take;
    services_->acceptors[i]->Start([services = services_.get(), take](peer::OpenFile connection) {
      (services->*take)(std::move(connection));
    });
  }
}

Server::~Server() { Stop(); }

void Server::Stop() {
  if (services_->server == nullptr) return;
  for (const auto& acceptor : services_->acceptors) acceptor->Stop();
  loop_->Call([this] {
    services_->backend.client_streams.EndAll();
    services_->backend.worker_streams.EndAll();
  });
  services_->server->Shutdown(std::chrono::system_clock::now() + kStopDeadline);
  services_->server->Wait();
  loop_->Call([] {});  // what the last callbacks posted
  services_->server.reset();
}

}  // namespace trainctl::rpc
