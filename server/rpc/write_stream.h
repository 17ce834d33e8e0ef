// A server-streaming call whose state lives on the loop: gRPC's callbacks only post to it, so that
// no subclass knows a lock.
//
// A subclass says in Pump what comes next: it calls Write once, or Close. Or it calls neither, and
// pumps again when something happened. At most one message is on its way. So a slow reader holds
// back nobody but itself, and nothing is queued for it. One that reads nothing is cut off. A stream
// owns itself: it is deleted on the loop after gRPC's last callback.
#pragma once

#include <grpcpp/support/server_callback.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "server/rpc/backend.h"
#include "server/rpc/request_reader.h"
#include "server/rpc/status.h"
#include "server/rpc/unread_answer.h"

namespace trainctl::rpc {

template <class Request, class Message>
class WriteStream : public grpc::ServerBidiReactor<grpc::ByteBuffer, Message>,
                    public OpenStream,
                    private RequestReader::Call {
 public:
  using Written = Message;
  explicit WriteStream(Backend& backend)
      : loop_(backend.loop),
        streams_(backend.client_streams),
        gate_(backend.gate),
        unread_(backend),
        reader_(*this, backend.requests) {}

  // Once, by whoever made it: where the caller may make the call the request is read, and the first
  // Pump follows on the loop.
  void Begin(grpc::CallbackServerContext& context, std::string_view rpc) {
    unread_.Of(context);
    auto permit = gate_.Admit(context, rpc);
    if (!permit) return OnRequest(permit.error());
    permit_ = std::move(*permit);
    reader_.Read(permit_.caller.name, rpc, &request_);
  }

  void End(const base::Error& reason) override { Close(ToGrpc(reason)); }

  void OnWriteDone(bool ok) override {
    loop_.Post([this, ok] {
      writing_ = false;
      unread_.Taken();
      if (!ok) return Close(grpc::Status::CANCELLED);
      PumpIfIdle();
    });
  }
  void OnReadDone(bool ok) override { reader_.OnReadDone(ok); }
  // Before the request is there OnRequest ends the call.
  void OnCancel() override {
    reader_.OnCancel();
    loop_.Post([this] {
      cancelled_ = true;
      if (opened_) Close(grpc::Status::CANCELLED);
    });
  }
  void OnDone() override {
    loop_.Post([this] {
      streams_.Remove(this);
      delete this;
    });
  }

 protected:
  virtual void Pump() = 0;

  const std::string& user() const { return permit_.caller.name; }

  // Something happened: asks Pump unless a message is on its way, after which Pump is asked anyway.
  // Nothing more is told to who may not ask any more.
  void PumpIfIdle() {
    if (writing_ || closed_) return;
    if (const base::Status holds = permit_.StillHolds(); !holds) return Close(ToGrpc(holds));
    Pump();
  }
  void Write(Message message) {
    const base::Status held = unread_.Hold(permit_.caller.name, message.ByteSizeLong());
    if (!held) return Close(ToGrpc(held.error()));
    writing_ = true;
    message_ = std::move(message);
    this->StartWrite(&message_);
  }
  void Close(const grpc::Status& status) {
    if (std::exchange(closed_, true)) return;
    this->Finish(status);
  }

  // An answer that comes later, on the loop: dropped where the stream is closed by then; an error
  // closes it; else `take`, then Pump.
  template <class T, class Take>
  std::function<void(base::Result<T>)> Later(Take take) {
    return [this, take, alive = std::weak_ptr<bool>(alive_)](base::Result<T> result) {
      if (alive.expired() || closed_) return;
      if (!result) return Close(ToGrpc(result.error()));
      take(std::move(*result));
      PumpIfIdle();
    };
  }

  Request request_;  // once Pump is called

 private:
  void StartReadRequest(grpc::ByteBuffer* bytes) override { this->StartRead(bytes); }
  void OnRequest(const base::Status& read) override {
    loop_.Post([this, read] {
      opened_ = true;
      if (cancelled_) return Close(grpc::Status::CANCELLED);
      if (!read) return Close(ToGrpc(read));
      const base::Status added = streams_.Add(this, permit_.caller.name, permit_.caller.token);
      if (!added) return Close(ToGrpc(added));
      reader_.Leave();
      PumpIfIdle();
    });
  }

  coordinator::EventLoop& loop_;
  StreamSet& streams_;
  Gate& gate_;
  Permit permit_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  Message message_;
  UnreadAnswer unread_;
  bool opened_ = false;  // the request is there, or will not be
  bool cancelled_ = false;
  bool writing_ = false;
  bool closed_ = false;
  RequestReader reader_;
};

}  // namespace trainctl::rpc
