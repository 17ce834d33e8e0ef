// A unary call, from its admission to its answer. An RPC is what is special about it: how its
// request is decoded, whom it asks, and how the answer fills the response.
#pragma once

#include <grpcpp/support/server_callback.h>

#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "server/rpc/backend.h"
#include "server/rpc/gate.h"
#include "server/rpc/request_reader.h"
#include "server/rpc/status.h"
#include "server/rpc/tell_refusal.h"
#include "server/rpc/unread_answer.h"

namespace trainctl::rpc {

// What the work of an RPC knows of its call.
class UnaryCall {
 public:
  virtual ~UnaryCall() = default;

  Backend& backend() const { return backend_; }
  // nullptr: the caller may not make it; the call has ended with that error. subject: of a change,
  // what the audit log names where it is refused.
  const Permit* Admitted(std::string subject);
  // Once. A change that is refused is told to the audit log.
  void End(const base::Status& status);

 protected:
  UnaryCall(Backend& backend, std::string_view rpc);

  // Once, before the request is read. False: it is not read, the call has ended.
  bool Admit(grpc::CallbackServerContext& context);
  const std::string& user() const { return entry_.caller.name; }
  virtual void Respond(const base::Status& status) = 0;  // with the response, if it is Ok

 private:
  bool TellsSubject() const;

  Backend& backend_;
  const base::SteadyMicros began_;
  Refusal entry_;  // should it be one
  base::Result<Permit> permit_ = Permit();
};

// It owns itself: deleted after gRPC's last callback. For gRPC it is a stream, whose request is
// read when the call says so.
template <class Request, class Response>
class UnaryReactor final : public grpc::ServerBidiReactor<grpc::ByteBuffer, Response>,
                           private UnaryCall,
                           private RequestReader::Call {
 public:
  using Work = std::function<void(UnaryCall&, const Request*, Response*)>;
  UnaryReactor(Backend& backend, std::string_view rpc, Work work)
      : UnaryCall(backend, rpc),
        work_(std::move(work)),
        unread_(backend),
        reader_(*this, backend.requests) {}

  void Begin(grpc::CallbackServerContext& context, std::string_view rpc) {
    unread_.Of(context);
    if (Admit(context)) reader_.Read(user(), rpc, &request_);
  }

 private:
  void OnReadDone(bool ok) override { reader_.OnReadDone(ok); }
  void OnCancel() override { reader_.OnCancel(); }
  void OnDone() override { delete this; }
  void StartReadRequest(grpc::ByteBuffer* bytes) override { this->StartRead(bytes); }
  void OnRequest(const base::Status& read) override {
    if (!read) return End(read);
    work_(*this, &request_, &response_);
  }
  void Respond(const base::Status& status) override {
    if (!status) return this->Finish(ToGrpc(status));
    reader_.Leave();
    const base::Status held = unread_.Hold(user(), response_.ByteSizeLong());
    if (!held) return this->Finish(ToGrpc(held.error()));
    this->StartWriteAndFinish(&response_, {}, grpc::Status::OK);
  }

  const Work work_;
  Request request_;
  Response response_;
  UnreadAnswer unread_;
  RequestReader reader_;
};

// A call, and of a change what the audit log names where it is refused.
struct Entry {
  UnaryCall& call;
  std::string subject = {};
};

template <class T>
using Answer = std::function<void(base::Result<T>)>;

// Answers with the error, or with what `fill(value)` makes of the value.
template <class T, class Fill>
Answer<T> Finishing(UnaryCall& call, Fill fill) {
  return [&call, fill](base::Result<T> result) {
    if (!result) return call.End(result.error());
    fill(std::move(*result));
    call.End(base::Ok{});
  };
}

// The request as `decode()` reads it goes to `ask(permit, question, answer)` on the loop; what is
// answered there, a T, to `fill`.
template <class T, class Decode, class Ask, class Fill>
void AskLoop(const Entry& entry, Decode decode, Ask ask, Fill fill) {
  UnaryCall& call = entry.call;
  const Permit* permit = call.Admitted(entry.subject);
  if (permit == nullptr) return;
  auto question = decode();
  if (!question) return call.End(question.error());
  call.backend().loop.Post([&call, ask, fill, permit, question = std::move(*question)]() mutable {
    ask(*permit, std::move(question), Finishing<T>(call, fill));
  });
}

// The request as `decode()` reads it goes to `read(permit, reader, question)` on the read thread;
// what is found goes to `ask(permit, found, answer)` on the loop; what is answered there, a T, to
// `fill`.
template <class T, class Decode, class Read, class Ask, class Fill>
void AskStoreThenLoop(const Entry& entry, Decode decode, Read read, Ask ask, Fill fill) {
  UnaryCall& call = entry.call;
  const Permit* permit = call.Admitted(entry.subject);
  if (permit == nullptr) return;
  auto question = decode();
  if (!question) return call.End(question.error());
  using Result = std::invoke_result_t<Read, const Permit&, store::Reader&, decltype(*question)>;
  using Found = std::decay_t<decltype(*std::declval<Result>())>;
  call.backend().reads.Ask<Found>(
      permit->caller.name,
      [read, permit, question = std::move(*question)](store::Reader& reader) mutable {
        return read(*permit, reader, question);
      },
      [&call, ask, fill, permit](base::Result<Found> found) mutable {
        if (!found) return call.End(found.error());
        ask(*permit, std::move(*found), Finishing<T>(call, fill));
      });
}

// The request as `decode()` reads it goes to `read(permit, reader, question)` on the read thread;
// what is found goes to `fill(found)` on the loop.
template <class Decode, class Read, class Fill>
void AskStore(const Entry& entry, Decode decode, Read read, Fill fill) {
  AskStoreThenLoop<base::Ok>(
      entry, decode, read,
      [fill](const Permit&, auto found, const Answer<base::Ok>& answer) {
        fill(std::move(found));
        answer(base::Ok{});
      },
      [](base::Ok) {});
}

}  // namespace trainctl::rpc
