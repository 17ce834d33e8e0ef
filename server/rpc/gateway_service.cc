#include "server/rpc/gateway_service.h"

#include "server/rpc/worker_stream.h"

namespace trainctl::rpc {

grpc::ServerBidiReactor<v1::WorkerMessage, v1::CoordinatorMessage>* GatewayService::Connect(
    grpc::CallbackServerContext* context) {
  auto* stream =
      new WorkerStream(backend_, *context);  // owns itself: deleted after gRPC's last callback
  stream->Begin(backend_.gate.Admit(*context, "Connect"));
  return stream;
}

}  // namespace trainctl::rpc
