// base errors as gRPC statuses.
#pragma once

#include <grpcpp/support/status.h>

#include "common/base/result.h"
#include "common/wire/grpc_code.h"

namespace trainctl::rpc {

inline grpc::Status ToGrpc(const base::Error& error) {
  return grpc::Status(static_cast<grpc::StatusCode>(wire::ToGrpcCode(error.code)), error.message);
}

template <class T>
grpc::Status ToGrpc(const base::Result<T>& result) {
  return result ? grpc::Status::OK : ToGrpc(result.error());
}

}  // namespace trainctl::rpc
