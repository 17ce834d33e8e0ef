// WorkerGateway of proto/trainctl.proto.
#pragma once

#include "proto/trainctl.grpc.pb.h"
#include "server/rpc/methods.h"

namespace trainctl::rpc {

class GatewayService {
 public:
  explicit GatewayService(Backend& backend);

  grpc::Service* methods() { return &methods_; }

 private:
  grpc::ServerBidiReactor<grpc::ByteBuffer, v1::CoordinatorMessage>* Connect(
      grpc::CallbackServerContext* context);
  void Certify(UnaryCall& call, const v1::CertifyRequest* request, v1::CertifyResponse* response);

  Backend& backend_;
  Methods<v1::WorkerGateway::Service> methods_;
};

}  // namespace trainctl::rpc
