// A call of whatever method, with raw bytes: until the first answer or the end.
#pragma once

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/support/byte_buffer.h>

#include <future>
#include <string>

#include "tests/rpc/test_site.h"

namespace trainctl::rpc_test {

class AnyCall : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  // token: of a person who comes over TLS; empty: none.
  AnyCall(grpc::GenericStub& stub, const std::string& method, const std::string& request,
          const std::string& token = "")
      : slice_(request), request_(&slice_, 1) {
    if (!token.empty()) context_.AddMetadata("authorization", "Bearer " + token);
    context_.set_deadline(std::chrono::system_clock::now() + kDeadline);
    stub.PrepareBidiStreamingCall(&context_, method, {}, this);
    StartWriteLast(&request_, {});
    StartRead(&response_);
    StartCall();
  }
  void OnReadDone(bool ok) override {
    answered_ = ok;
    if (ok) context_.TryCancel();
  }
  void OnDone(const grpc::Status& status) override {
    done_.set_value(answered_ ? grpc::Status::OK : status);
  }
  grpc::Status Wait() { return done_.get_future().get(); }

 private:
  grpc::ClientContext context_;
  grpc::Slice slice_;
  grpc::ByteBuffer request_, response_;
  bool answered_ = false;
  std::promise<grpc::Status> done_;
};

}  // namespace trainctl::rpc_test
