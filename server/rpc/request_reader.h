// The one request of a call that was let in: read once the budget has room for it, within a
// deadline. Until then gRPC holds no more of it than a stream's window of 64 KiB.
#pragma once

#include <google/protobuf/message.h>
#include <grpcpp/alarm.h>
#include <grpcpp/support/byte_buffer.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/result.h"
#include "server/rpc/request_budget.h"

namespace trainctl::rpc {

class RequestReader {
 public:
  static constexpr auto kDeadline = std::chrono::seconds(10);  // for a request to come whole

  // What gRPC's reactor does. It lives until OnRequest was called.
  class Call {
   public:
    virtual ~Call() = default;
    virtual void StartReadRequest(grpc::ByteBuffer* bytes) = 0;
    // Once, any thread: the request is there, or why not.
    virtual void OnRequest(const base::Status& read) = 0;
  };

  RequestReader(Call& call, RequestBudget& budget) : call_(call), budget_(budget) {}
  ~RequestReader() { Leave(); }

  // Once, before gRPC's callbacks. user: to whom the request counts.
  void Read(const std::string& user, std::string_view rpc, google::protobuf::Message* request);
  // The call is none any more that waits for its answer.
  void Leave();

  // gRPC's callbacks.
  void OnReadDone(bool ok);
  void OnCancel();

 private:
  void Start();

  Call& call_;
  RequestBudget& budget_;
  std::optional<RequestBudget::Call> entry_;
  std::string_view rpc_;
  google::protobuf::Message* request_ = nullptr;
  grpc::ByteBuffer bytes_;
  // Whoever takes it calls OnRequest. The alarm may ring after this is gone.
  std::shared_ptr<std::atomic<bool>> undecided_ = std::make_shared<std::atomic<bool>>(true);
  grpc::Alarm alarm_;
};

}  // namespace trainctl::rpc
