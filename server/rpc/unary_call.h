// A unary call, from its admission to its answer. An RPC is what is special about it: how its
// request is decoded, whom it asks, and how the answer fills the response.
#pragma once

#include <grpcpp/support/server_callback.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "server/rpc/backend.h"
#include "server/rpc/gate.h"
#include "server/rpc/status.h"
#include "server/rpc/tell_refusal.h"

namespace trainctl::rpc {

// How a call enters.
struct Entry {
  Backend& backend;
  grpc::CallbackServerContext& context;
  std::string_view rpc;      // of auth::Permissions
  std::string subject = {};  // of a change: what the audit log names where it is refused
};

// Counts while it is open, so that calls that wait are bounded. It owns itself: deleted after
// gRPC's last callback.
class UnaryCall : public grpc::ServerUnaryReactor {
 public:
  static constexpr int kMostOpen = 512;

  explicit UnaryCall(const Entry& entry);
  ~UnaryCall() override { --backend_.open_calls; }

  // nullopt: too many are open, or the caller may not make it; the call has ended with that error.
  std::optional<Permit> Admit(const Entry& entry);
  // A change that is refused is told to the audit log.
  void End(const base::Status& status);
  void OnDone() override { delete this; }

 private:
  Backend& backend_;
  const bool is_admitted_;
  const base::SteadyMicros began_;
  Refusal entry_;  // should it be one
};

template <class T>
using Answer = std::function<void(base::Result<T>)>;

// Answers with the error, or with what `fill(value)` makes of the value.
template <class T, class Fill>
Answer<T> Finishing(UnaryCall* call, Fill fill) {
  return [call, fill](base::Result<T> result) {
    if (!result) return call->End(result.error());
    fill(std::move(*result));
    call->End(base::Ok{});
  };
}

// The request as `decode()` reads it goes to `ask(permit, question, answer)` on the loop; what is
// answered there, a T, to `fill`.
template <class T, class Decode, class Ask, class Fill>
grpc::ServerUnaryReactor* AskLoop(const Entry& entry, Decode decode, Ask ask, Fill fill) {
  auto* call = new UnaryCall(entry);
  auto permit = call->Admit(entry);
  if (!permit) return call;
  auto question = decode();
  if (!question) {
    call->End(question.error());
    return call;
  }
  entry.backend.loop.Post(
      [call, ask, fill, permit = std::move(*permit), question = std::move(*question)]() mutable {
        ask(permit, std::move(question), Finishing<T>(call, fill));
      });
  return call;
}

// The request as `decode()` reads it goes to `read(permit, reader, question)` on the read thread;
// what is found goes to `ask(permit, found, answer)` on the loop; what is answered there, a T, to
// `fill`.
template <class T, class Decode, class Read, class Ask, class Fill>
grpc::ServerUnaryReactor* AskStoreThenLoop(const Entry& entry, Decode decode, Read read, Ask ask,
                                           Fill fill) {
  auto* call = new UnaryCall(entry);
  const auto permit = call->Admit(entry);
  if (!permit) return call;
  auto question = decode();
  if (!question) {
    call->End(question.error());
    return call;
  }
  using Result = std::invoke_result_t<Read, const Permit&, store::Reader&, decltype(*question)>;
  using Found = std::decay_t<decltype(*std::declval<Result>())>;
  entry.backend.reads.Ask<Found>(
      [read, permit = *permit, question = std::move(*question)](store::Reader& reader) mutable {
        return read(permit, reader, question);
      },
      [call, ask, fill, permit = *permit](base::Result<Found> found) mutable {
        if (!found) return call->End(found.error());
        ask(permit, std::move(*found), Finishing<T>(call, fill));
      });
  return call;
}

// The request as `decode()` reads it goes to `read(permit, reader, question)` on the read thread;
// what is found goes to `fill(found)` on the loop.
template <class Decode, class Read, class Fill>
grpc::ServerUnaryReactor* AskStore(const Entry& entry, Decode decode, Read read, Fill fill) {
  return AskStoreThenLoop<base::Ok>(
      entry, decode, read,
      [fill](const Permit&, auto found, const Answer<base::Ok>& answer) {
        fill(std::move(found));
        answer(base::Ok{});
      },
      [](base::Ok) {});
}

}  // namespace trainctl::rpc
