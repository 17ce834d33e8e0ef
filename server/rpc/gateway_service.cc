#include "server/rpc/gateway_service.h"

#include "server/rpc/tell_refusal.h"
#include "server/rpc/worker_stream.h"

namespace trainctl::rpc {

grpc::ServerBidiReactor<v1::WorkerMessage, v1::CoordinatorMessage>* GatewayService::Connect(
    grpc::CallbackServerContext* context) {
  auto* stream =
      new WorkerStream(backend_, *context);  // owns itself: deleted after gRPC's last callback
  Refusal entry{{}, "Connect", ""};
  const auto permit = backend_.gate.Admit(*context, entry.rpc, &entry.caller);
  if (!permit) TellRefusal(backend_, entry, permit.error());
  stream->Begin(permit);
  return stream;
}

}  // namespace trainctl::rpc
