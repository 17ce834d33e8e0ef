#include "server/rpc/unread_answer.h"

#include <grpc/grpc.h>
#include <grpcpp/server_context.h>

#include "server/rpc/status.h"

namespace trainctl::rpc {
namespace {

// The message itself, and what gRPC makes of it.
constexpr int64_t kCopies = 2;

}  // namespace

void UnreadAnswer::Of(grpc::CallbackServerContext& context) {
  grpc_call_ref(context.c_call());
  call_ = {context.c_call(), grpc_call_unref};
}

base::Status UnreadAnswer::Hold(const std::string& user, size_t encoded_bytes) {
  const auto cut_off = [call = call_](const base::Error& error) {
    const grpc::Status status = ToGrpc(error);
    grpc_call_cancel_with_status(call.get(), static_cast<grpc_status_code>(status.error_code()),
                                 status.error_message().c_str(), nullptr);
  };
  const auto entered = backend_.answers->Enter(user, kCopies * static_cast<int64_t>(encoded_bytes),
                                               backend_.meters.Now(), cut_off);
  if (!entered) return entered.error();
  answer_ = *entered;
  return base::Ok{};
}

void UnreadAnswer::Taken() {
  if (answer_) backend_.answers->Leave(*answer_);
  answer_.reset();
}

}  // namespace trainctl::rpc
