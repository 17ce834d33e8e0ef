// base errors as gRPC statuses.
#pragma once

#include <grpcpp/support/status.h>

#include "common/base/result.h"

namespace trainctl::rpc {

// A message of many lines is cut behind a whole one: peers refuse headers beyond 8 KiB.
grpc::Status ToGrpc(const base::Error& error);

template <class T>
grpc::Status ToGrpc(const base::Result<T>& result) {
  return result ? grpc::Status::OK : ToGrpc(result.error());
}

}  // namespace trainctl::rpc
