#include "server/rpc/server.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <chrono>
#include <utility>

#include "server/rpc/backend.h"
#include "server/rpc/coordinator_service.h"
#include "server/rpc/gateway_service.h"

namespace trainctl::rpc {
namespace {

constexpr auto kStopDeadline = std::chrono::seconds(2);
constexpr int kMaxStreamsPerConnection = 1024;
constexpr int kKeepaliveMillis = 10'000;
constexpr int kKeepaliveTimeoutMillis = 5'000;
constexpr int kShortestPingMillis =
    1'000;  // workers ping, so that they learn soon that the coordinator's host is gone

// Idle connections are pinged in both directions: a peer whose host vanished is noticed without
// waiting for TCP.
void SetChannelArguments(grpc::ServerBuilder* builder) {
  builder->SetMaxReceiveMessageSize(Server::kMaxMessageBytes);
  builder->SetMaxSendMessageSize(-1);
  builder->AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT,
                              0);  // a second coordinator must not share the port
  builder->AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMaxStreamsPerConnection);
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMillis);
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveTimeoutMillis);
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder->AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                              kShortestPingMillis);
}

}  // namespace

struct Server::Services {
  Services(const Parts& parts, const auth::ListenAddress& address)
      : gate(address, parts.policy),
        backend{parts.loop, parts.reads, parts.coordinator, parts.log, gate, parts.meters},
        coordinator(backend, parts.version, parts.dashboard),
        gateway(backend) {}

  Gate gate;
  Backend backend;
  CoordinatorService coordinator;
  GatewayService gateway;
  std::unique_ptr<grpc::Server> server;
};

Server::Server() = default;

base::Result<std::unique_ptr<Server>> Server::Start(const auth::ListenAddress& address,
                                                    const Parts& parts) {
  std::unique_ptr<Server> server(new Server());
  server->address_ = address;
  server->loop_ = &parts.loop;
  server->services_ = std::make_unique<Services>(parts, server->address_);
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::ServerBuilder builder;
  SetChannelArguments(&builder);
  builder.AddListeningPort(auth::ToString(address), grpc::InsecureServerCredentials(),
                           &server->address_.port);
  builder.RegisterService(&server->services_->coordinator);
  builder.RegisterService(&server->services_->gateway);
  server->services_->server = builder.BuildAndStart();
  if (server->services_->server == nullptr || server->address_.port == 0) {
    return base::Error{
        base::Code::kConflict,
        auth::ToString(address) +
            ": can't listen there; another process has the port: choose another one, or port 0"};
  }
  server->services_->server->GetHealthCheckService()->SetServingStatus(true);
  return server;
}

Server::~Server() { Stop(); }

void Server::Stop() {
  if (services_->server == nullptr) return;
  services_->server->GetHealthCheckService()->SetServingStatus(false);
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
