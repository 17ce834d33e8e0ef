// A unary call that counts while it is open, so that calls that wait are bounded. It owns itself:
// deleted after gRPC's last callback.
#pragma once

#include <grpcpp/support/server_callback.h>

#include <atomic>
#include <string>

#include "server/rpc/status.h"

namespace trainctl::rpc {

class UnaryCall : public grpc::ServerUnaryReactor {
 public:
  static constexpr int kMostOpen = 512;

  explicit UnaryCall(std::atomic<int>& open) : open_(open), is_admitted_(++open <= kMostOpen) {}
  ~UnaryCall() override { --open_; }

  // False: too many are open; the call has been finished with RESOURCE_EXHAUSTED.
  bool Admit() {
    if (!is_admitted_) {
      Finish(ToGrpc(
          base::Error{base::Code::kExhausted,
                      std::to_string(kMostOpen) + " calls wait already: try again in a moment"}));
    }
    return is_admitted_;
  }
  void OnDone() override { delete this; }

 private:
  std::atomic<int>& open_;
  const bool is_admitted_;
};

}  // namespace trainctl::rpc
