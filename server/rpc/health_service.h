// grpc.health.v1.Health of the standard, without its Watch: a client takes that for healthy.
// Anybody may ask. gRPC's own service reads requests of any size before it is asked who calls.
#pragma once

#include <grpcpp/impl/service_type.h>

#include "server/rpc/backend.h"

namespace trainctl::rpc {

class HealthService : public grpc::Service {
 public:
  explicit HealthService(RequestBudget& budget);
};

}  // namespace trainctl::rpc
