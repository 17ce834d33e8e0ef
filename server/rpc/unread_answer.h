// One answer of a call at a time, as long as gRPC holds it. Where it has to go before the client
// has taken it, the call is cut off: a status would stand behind what the client does not read.
#pragma once

#include <grpcpp/support/server_callback.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "common/base/result.h"
#include "server/rpc/answer_budget.h"
#include "server/rpc/backend.h"

struct grpc_call;

namespace trainctl::rpc {

class UnreadAnswer {
 public:
  explicit UnreadAnswer(Backend& backend) : backend_(backend) {}
  ~UnreadAnswer() { Taken(); }
  UnreadAnswer(const UnreadAnswer&) = delete;
  UnreadAnswer& operator=(const UnreadAnswer&) = delete;

  // Once, before the first answer.
  void Of(grpc::CallbackServerContext& context);
  // One with so many bytes as it is encoded is about to be written. kExhausted: it must not be.
  base::Status Hold(const std::string& user, size_t encoded_bytes);
  // The client has it. Idempotent.
  void Taken();

 private:
  Backend& backend_;
  std::shared_ptr<grpc_call> call_;
  std::optional<AnswerBudget::Answer> answer_;
};

}  // namespace trainctl::rpc
