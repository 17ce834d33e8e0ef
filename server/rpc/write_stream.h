// A server-streaming call whose state lives on the loop: gRPC's callbacks only post to it, so that
// no subclass knows a lock.
//
// A subclass says in Pump what comes next: it calls Write once, or Close. Or it calls neither, and
// pumps again when something happened. At most one message is on its way. So a slow reader holds
// back nobody but itself, and nothing is queued for it. A stream owns itself: it is deleted on the
// loop after gRPC's last callback.
#pragma once

#include <grpcpp/support/server_callback.h>

#include <functional>
#include <memory>
#include <utility>

#include "server/coordinator/event_loop.h"
#include "server/rpc/gate.h"
#include "server/rpc/status.h"
#include "server/rpc/stream_set.h"

namespace trainctl::rpc {

template <class Message>
class WriteStream : public grpc::ServerWriteReactor<Message>, public OpenStream {
 public:
  WriteStream(coordinator::EventLoop& loop, StreamSet& streams) : loop_(loop), streams_(streams) {}

  // Once, by whoever made it, with what the gate said: the first Pump follows on the loop.
  void Begin(const base::Result<Permit>& permit) {
    if (!permit) {
      return loop_.Post([this, refused = permit.error()] { Close(ToGrpc(refused)); });
    }
    loop_.Post([this, permit = *permit] {
      permit_ = permit;
      const base::Status added = streams_.Add(this, permit_.caller.name, permit_.caller.token);
      if (!added) return Close(ToGrpc(added));
      PumpIfIdle();
    });
  }

  void End(const base::Error& reason) override { Close(ToGrpc(reason)); }

  void OnWriteDone(bool ok) override {
    loop_.Post([this, ok] {
      writing_ = false;
      if (!ok) return Close(grpc::Status::CANCELLED);
      PumpIfIdle();
    });
  }
  void OnCancel() override {
    loop_.Post([this] { Close(grpc::Status::CANCELLED); });
  }
  void OnDone() override {
    loop_.Post([this] {
      streams_.Remove(this);
      delete this;
    });
  }

 protected:
  virtual void Pump() = 0;

  // Something happened: asks Pump unless a message is on its way, after which Pump is asked anyway.
  // Nothing more is told to who may not ask any more.
  void PumpIfIdle() {
    if (writing_ || closed_) return;
    if (const base::Status holds = permit_.StillHolds(); !holds) return Close(ToGrpc(holds));
    Pump();
  }
  void Write(Message message) {
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

 private:
  coordinator::EventLoop& loop_;
  StreamSet& streams_;
  Permit permit_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  Message message_;
  bool writing_ = false;
  bool closed_ = false;
};

}  // namespace trainctl::rpc
