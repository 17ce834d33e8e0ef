// The methods of a service of proto/trainctl.proto, each by what it does. Generated is its grpc
// class: v1::Coordinator::Service.
//
// All are streams for gRPC here. Of a unary call it would read the request before anybody is asked
// who calls; of a stream it reads when told to.
#pragma once

#include <google/protobuf/descriptor.h>
#include <grpcpp/support/server_callback.h>

#include <functional>
#include <string>
#include <utility>

#include "server/rpc/unary_call.h"

namespace trainctl::rpc {

template <class Generated>
class Methods : public Generated {
 public:
  Methods(Backend& backend, const google::protobuf::ServiceDescriptor& service)
      : backend_(backend), service_(service) {}

  template <class Request, class Response>
  void AddUnary(const char* rpc, std::function<void(UnaryCall&, const Request*, Response*)> work) {
    Add<grpc::ByteBuffer, Response>(
        rpc, [&backend = backend_, rpc, work = std::move(work)](auto* context) {
          auto* call = new UnaryReactor<Request, Response>(backend, rpc, work);
          call->Begin(*context, rpc);
          return call;
        });
  }
  // Stream: a WriteStream.
  template <class Stream>
  void AddStream(const char* rpc) {
    Add<grpc::ByteBuffer, typename Stream::Written>(rpc, [&backend = backend_, rpc](auto* context) {
      auto* stream = new Stream(backend);
      stream->Begin(*context, rpc);
      return stream;
    });
  }
  template <class Request, class Response>
  void Add(const char* rpc,
           std::function<grpc::ServerBidiReactor<Request, Response>*(grpc::CallbackServerContext*)>
               make) {
    const auto* method = service_.FindMethodByName(rpc);
    CHECK(method != nullptr) << rpc;
    this->MarkMethodStreamed(method->index(), nullptr);
    this->MarkMethodRawCallback(
        method->index(),
        new grpc::internal::CallbackBidiHandler<Request, Response>(std::move(make)));
  }
  // CHECKs that each method does something.
  void CheckComplete() const {
    CHECK(!this->has_synchronous_methods()) << "not all methods of " << service_.full_name();
  }

 private:
  Backend& backend_;
  const google::protobuf::ServiceDescriptor& service_;
};

}  // namespace trainctl::rpc
