#include "server/rpc/gateway_service.h"

#include "server/rpc/tell_refusal.h"
#include "server/rpc/unary_call.h"
#include "server/rpc/worker_stream.h"

namespace trainctl::rpc {
namespace {

base::Error UsedUp() {
  return {base::Code::kDenied, "this join token was used already, or was revoked"};
}

base::Result<std::string> CertifyFor(auth::SiteKeys* keys, const Permit& permit,
                                     const std::string& request) {
  const auth::Caller& caller = permit.caller;
  if (keys == nullptr || caller.host.empty()) {
    return base::Error{base::Code::kConflict,
                       "certificates are for workers that come over TLS: this one needs none"};
  }
  if (const base::Status holds = permit.StillHolds(); !holds) return holds.error();
  if (caller.joins != 0 && !keys->tokens().Check(caller.joins)) return UsedUp();
  return keys->CertifyWorker(caller.host, request);
}

// It is used up before the certificate is told: who loses the answer needs another.
base::Status UseUp(auth::SiteKeys& keys, int64_t join_token) {
  base::Status used = join_token == 0 ? base::Ok{} : keys.tokens().Revoke(join_token);
  if (used || used.error().code != base::Code::kNotFound) return used;
  return UsedUp();
}

}  // namespace

GatewayService::GatewayService(Backend& backend)
    : backend_(backend),
      methods_(backend,
               *v1::SubmitRequest::descriptor()->file()->FindServiceByName("WorkerGateway")) {
  methods_.Add<grpc::ByteBuffer, v1::CoordinatorMessage>(
      "Connect", [this](grpc::CallbackServerContext* context) { return Connect(context); });
  methods_.AddUnary<v1::CertifyRequest, v1::CertifyResponse>(
      "Certify", [this](UnaryCall& call, const v1::CertifyRequest* request,
                        v1::CertifyResponse* response) { Certify(call, request, response); });
  methods_.CheckComplete();
}

grpc::ServerBidiReactor<grpc::ByteBuffer, v1::CoordinatorMessage>* GatewayService::Connect(
    grpc::CallbackServerContext* context) {
  auto* stream =
      new WorkerStream(backend_, *context);  // owns itself: deleted after gRPC's last callback
  Refusal entry{{}, "Connect", ""};
  const auto permit = backend_.gate.Admit(*context, entry.rpc, &entry.caller);
  if (!permit) TellRefusal(backend_, entry, permit.error());
  stream->Begin(permit);
  return stream;
}

void GatewayService::Certify(UnaryCall& call, const v1::CertifyRequest* request,
                             v1::CertifyResponse* response) {
  AskLoop<std::string>(
      {call}, [=] { return base::Result<std::string>(request->certificate_request()); },
      [this](const Permit& permit, const std::string& asked, auto answer) {
        auto certificate = CertifyFor(backend_.keys, permit, asked);
        if (!certificate) return answer(certificate.error());
        const auto tell = [this, permit, answer, text = *certificate](const base::Status& stored) {
          const base::Status used = stored ? UseUp(*backend_.keys, permit.caller.joins) : stored;
          answer(used ? base::Result<std::string>(text) : used.error());
        };
        backend_.coordinator.RecordChange(permit.caller, "certify", permit.caller.host, tell);
      },
      [response](std::string certificate) { response->set_certificate(std::move(certificate)); });
}

}  // namespace trainctl::rpc
