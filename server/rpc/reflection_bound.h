// gRPC's reflection reads whatever anybody sends: so few have a stream of it at once. Further ones
// are cancelled before anything is read.
#pragma once

#include <grpcpp/support/server_interceptor.h>

#include <atomic>

namespace trainctl::rpc {

class ReflectionBound : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  static constexpr int kMostOpen = 4;

  grpc::experimental::Interceptor* CreateServerInterceptor(
      grpc::experimental::ServerRpcInfo* info) override;

 private:
  class Stream;
  std::atomic<int> open_ = 0;
};

}  // namespace trainctl::rpc
