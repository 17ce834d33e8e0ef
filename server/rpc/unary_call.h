// A unary call, from its admission to its answer. An RPC is what is special about it: how its
// request is decoded, whom it asks, and how the answer fills the response.
#pragma once

#include <grpcpp/support/server_callback.h>

#include <atomic>
#include <functional>
#include <string>
#include <type_traits>
#include <utility>

#include "server/rpc/backend.h"
#include "server/rpc/status.h"

namespace trainctl::rpc {

// Counts while it is open, so that calls that wait are bounded. It owns itself: deleted after
// gRPC's last callback.
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

template <class T>
using Answer = std::function<void(base::Result<T>)>;

// Answers with the error, or with what `fill(value)` makes of the value.
template <class T, class Fill>
Answer<T> Finishing(UnaryCall* call, Fill fill) {
  return [call, fill](base::Result<T> result) {
    if (result) fill(std::move(*result));
    call->Finish(ToGrpc(result));
  };
}

// The request as `decode()` reads it goes to `ask(question, answer)` on the loop; what is answered
// there, a T, to `fill`.
template <class T, class Decode, class Ask, class Fill>
grpc::ServerUnaryReactor* AskLoop(Backend& backend, Decode decode, Ask ask, Fill fill) {
  auto* call = new UnaryCall(backend.open_calls);
  if (!call->Admit()) return call;
  auto question = decode();
  if (question) {
    backend.loop.Post([call, ask, fill, question = std::move(*question)]() mutable {
      ask(std::move(question), Finishing<T>(call, fill));
    });
  } else {
    call->Finish(ToGrpc(question));
  }
  return call;
}

// The request as `decode()` reads it goes to `read(reader, question)` on the read thread; what is
// found goes to `ask(found, answer)` on the loop; what is answered there, a T, to `fill`.
template <class T, class Decode, class Read, class Ask, class Fill>
grpc::ServerUnaryReactor* AskStoreThenLoop(Backend& backend, Decode decode, Read read, Ask ask,
                                           Fill fill) {
  auto* call = new UnaryCall(backend.open_calls);
  if (!call->Admit()) return call;
  auto question = decode();
  if (!question) {
    call->Finish(ToGrpc(question));
    return call;
  }
  using Result = std::invoke_result_t<Read, store::Reader&, decltype(*question)>;
  using Found = std::decay_t<decltype(*std::declval<Result>())>;
  backend.reads.Ask<Found>([read, question = std::move(*question)](
                               store::Reader& reader) mutable { return read(reader, question); },
                           [call, ask, fill](base::Result<Found> found) mutable {
                             if (!found) return call->Finish(ToGrpc(found));
                             ask(std::move(*found), Finishing<T>(call, fill));
                           });
  return call;
}

// The request as `decode()` reads it goes to `read(reader, question)` on the read thread; what is
// found goes to `fill(found)` on the loop.
template <class Decode, class Read, class Fill>
grpc::ServerUnaryReactor* AskStore(Backend& backend, Decode decode, Read read, Fill fill) {
  return AskStoreThenLoop<base::Ok>(
      backend, decode, read,
      [fill](auto found, const Answer<base::Ok>& answer) {
        fill(std::move(found));
        answer(base::Ok{});
      },
      [](base::Ok) {});
}

}  // namespace trainctl::rpc
