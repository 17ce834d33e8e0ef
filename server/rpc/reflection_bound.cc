#include "server/rpc/reflection_bound.h"

#include <grpcpp/server_context.h>

#include <string_view>

namespace trainctl::rpc {

// Is there as long as its call is.
class ReflectionBound::Stream : public grpc::experimental::Interceptor {
 public:
  Stream(std::atomic<int>& open, grpc::experimental::ServerRpcInfo& info)
      : open_(open), info_(info), is_admitted_(++open <= kMostOpen) {}
  ~Stream() override { --open_; }

  void Intercept(grpc::experimental::InterceptorBatchMethods* methods) override {
    using Point = grpc::experimental::InterceptionHookPoints;
    if (!is_admitted_ && methods->QueryInterceptionHookPoint(Point::POST_RECV_INITIAL_METADATA))
      info_.server_context()->TryCancel();
    methods->Proceed();
  }

 private:
  std::atomic<int>& open_;
  grpc::experimental::ServerRpcInfo& info_;
  const bool is_admitted_;
};

grpc::experimental::Interceptor* ReflectionBound::CreateServerInterceptor(
    grpc::experimental::ServerRpcInfo* info) {
  const bool is_reflection = std::string_view(info->method()).starts_with("/grpc.reflection.");
  return is_reflection ? new Stream(open_, *info) : nullptr;
}

}  // namespace trainctl::rpc
