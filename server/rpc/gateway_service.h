// WorkerGateway of proto/trainctl.proto.
#pragma once

#include "proto/trainctl.grpc.pb.h"
#include "server/rpc/backend.h"

namespace trainctl::rpc {

class GatewayService : public v1::WorkerGateway::CallbackService {
 public:
  explicit GatewayService(Backend& backend) : backend_(backend) {}

  grpc::ServerBidiReactor<v1::WorkerMessage, v1::CoordinatorMessage>* Connect(
      grpc::CallbackServerContext* context) override;
  grpc::ServerUnaryReactor* Certify(grpc::CallbackServerContext* context,
                                    const v1::CertifyRequest* request,
                                    v1::CertifyResponse* response) override;

 private:
  Backend& backend_;
};

}  // namespace trainctl::rpc
