// One worker's stream. Messages are read and decoded on gRPC's threads, one at a time. The next is
// read once the loop has taken the last: a flood from one worker holds back only itself. What the
// coordinator says waits in a bounded queue.
#pragma once

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include <cstddef>
#include <deque>
#include <functional>
#include <string>

#include "proto/trainctl.pb.h"
#include "server/coordinator/worker_channel.h"
#include "server/rpc/backend.h"

namespace trainctl::rpc {

class WorkerStream : public grpc::ServerBidiReactor<grpc::ByteBuffer, v1::CoordinatorMessage>,
                     public OpenStream,
                     public coordinator::WorkerChannel {
 public:
  // Beyond it the worker does not read, and loses its stream.
  static constexpr size_t kMaxOutgoing = 4096;

  WorkerStream(Backend& backend, grpc::CallbackServerContext& context)
      : backend_(backend), context_(context) {}
  // Once, by whoever made it, with what the gate said.
  void Begin(const base::Result<Permit>& permit);

  // Of coordinator::WorkerChannel and OpenStream: the loop's thread.
  void Send(const coordinator::WorkerCommand& command) override;
  void End(const base::Error& reason) override;

  // gRPC's callbacks.
  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  using Step = std::function<void()>;  // runs on the loop

  bool Parse();  // what came, into in_
  Step Decode();
  Step DecodeHello();
  Step DecodeReport();
  Step DecodeLog();
  Step DecodeArtifactResult();
  Step DecodeOutputsResult();
  Step Refuse(const base::Error& error);
  // What can't be read is said and skipped: a newer worker's message must not end its stream.
  Step Skip(const base::Error& error);
  void Leave();
  void Close(const grpc::Status& status);
  void WriteNext();

  Backend& backend_;
  grpc::CallbackServerContext& context_;
  grpc::ByteBuffer bytes_;
  v1::WorkerMessage in_;
  std::string host_;    // of its certificate; empty: it needs none
  std::string worker_;  // of its Hello; the loop writes it while nothing is being read

  std::deque<v1::CoordinatorMessage> out_;  // the first is on its way where writing_
  bool writing_ = false;
  bool closed_ = false;
};

}  // namespace trainctl::rpc
