#include "server/rpc/worker_stream.h"

#include <grpcpp/server_context.h>
#include <grpcpp/support/proto_buffer_reader.h>

#include <utility>

#include "common/wire/artifact.h"
#include "common/wire/device_fault.h"
#include "common/wire/output_removal.h"
#include "common/wire/samples.h"
#include "server/rpc/status.h"
#include "server/rpc/worker_messages.h"

namespace trainctl::rpc {

void WorkerStream::Begin(const base::Result<Permit>& permit) {
  if (!permit) return backend_.loop.Post(Refuse(permit.error()));
  host_ = permit->caller.host;
  backend_.loop.Post([this, permit = *permit] {
    if (const base::Status holds = permit.StillHolds(); !holds) return Refuse(holds.error())();
    const base::Status added = backend_.worker_streams.Add(this, permit.caller.name);
    if (!added) return Close(ToGrpc(added));
    StartRead(&bytes_);
  });
}

void WorkerStream::OnReadDone(bool ok) {
  if (!ok) {
    return backend_.loop.Post([this] {
      Leave();
      Close(grpc::Status::OK);
    });
  }
  const base::Error unreadable = {
      base::Code::kInvalid, "the message can't be read: expected a trainctl.v1.WorkerMessage"};
  backend_.loop.Post([this, step = Parse() ? Decode() : Refuse(unreadable)] {
    if (closed_) return;
    step();
    if (!closed_) StartRead(&bytes_);
  });
}

bool WorkerStream::Parse() {
  bool is_read = false;
  {
    grpc::ProtoBufferReader bytes(&bytes_);
    is_read = in_.ParseFromZeroCopyStream(&bytes);
  }
  bytes_.Clear();
  return is_read;
}

WorkerStream::Step WorkerStream::Decode() {
  if (in_.has_hello()) return DecodeHello();
  if (worker_.empty())
    return Refuse({base::Code::kInvalid, "the first message of a worker's stream must be Hello"});
  switch (in_.message_case()) {
    case v1::WorkerMessage::kReport: return DecodeReport();
    case v1::WorkerMessage::kLog: return DecodeLog();
    case v1::WorkerMessage::kHeartbeat:
      return [this, device = wire::FromWire(in_.heartbeat().device()),
              host = wire::FromWire(in_.heartbeat().host())] {
        backend_.coordinator.WorkerSampled(*this, worker_, device, host);
      };
    case v1::WorkerMessage::kInspectResult:
      return [this, result = std::move(*in_.mutable_inspect_result())] {
        backend_.coordinator.WorkerInspected(*this, worker_, result.request_id(),
                                             DecodeInspection(result));
      };
    case v1::WorkerMessage::kArtifactResult: return DecodeArtifactResult();
    case v1::WorkerMessage::kOutputsResult: return DecodeOutputsResult();
    case v1::WorkerMessage::kDeviceState:
      return [this, state = in_.device_state()] {
        backend_.coordinator.WorkerDeviceChanged(*this, {worker_, state.free(), state.reason()});
      };
    case v1::WorkerMessage::kDeviceFaults:
      return [this, faults = wire::FromWire(in_.device_faults().faults())] {
        backend_.coordinator.WorkerToldFaults(*this, {worker_, faults});
      };
    default: return Skip({base::Code::kInvalid, "no message that this version knows"});
  }
}

WorkerStream::Step WorkerStream::DecodeHello() {
  auto hello = rpc::DecodeHello(in_.hello());
  if (!hello) return Refuse(hello.error());
  if (!worker_.empty())
    return Refuse(
        {base::Code::kInvalid, "a second Hello on the stream of worker '" + worker_ + "'"});
  const core::WorkerRow& worker = hello->worker;
  if (!host_.empty() && (worker.host != host_ || !worker.name.starts_with(host_ + "/"))) {
    return Refuse({base::Code::kDenied,
                   "worker '" + worker.name + "' of host '" + worker.host +
                       "' has a certificate for host '" + host_ + "': expected a worker " + host_ +
                       "/N there, or a certificate by trainctl admin worker-token " + worker.host});
  }
  return [this, hello = std::move(*hello)] {
    worker_ = hello.worker.name;
    backend_.coordinator.WorkerJoined(*this, hello);
  };
}

WorkerStream::Step WorkerStream::DecodeReport() {
  auto report = rpc::DecodeReport(worker_, in_.report());
  if (!report) return Skip(report.error());
  return [this, report = std::move(*report)]() mutable {
    backend_.coordinator.WorkerReported(*this, std::move(report));
  };
}

WorkerStream::Step WorkerStream::DecodeLog() {
  const auto piece = rpc::DecodeLog(in_.log());
  if (!piece) return Skip(piece.error());
  return [this, piece = *piece] { backend_.coordinator.WorkerLogged(*this, worker_, piece); };
}

WorkerStream::Step WorkerStream::DecodeArtifactResult() {
  v1::ArtifactResult* result = in_.mutable_artifact_result();
  auto piece = wire::FromWire(std::move(*result->mutable_piece()));
  const std::string error = piece ? result->error() : "artifact_result." + piece.error().message;
  return [this, request_id = result->request_id(),
          piece = piece ? std::move(*piece) : job::ArtifactPiece(), error]() mutable {
    backend_.coordinator.WorkerReadArtifact(*this, worker_, request_id, std::move(piece), error);
  };
}

WorkerStream::Step WorkerStream::DecodeOutputsResult() {
  const v1::OutputsResult& result = in_.outputs_result();
  auto removal = wire::FromWire(result.outputs());
  const std::string error = removal ? result.error() : removal.error().message;
  return [this, request_id = result.request_id(),
          removal = removal ? std::move(*removal) : job::RemovalAnswer(), error]() mutable {
    backend_.coordinator.WorkerRemovedOutputs(*this, worker_, request_id, std::move(removal),
                                              error);
  };
}

WorkerStream::Step WorkerStream::Refuse(const base::Error& error) {
  return [this, error] {
    backend_.log.Warning("worker_refused", {{"worker", worker_}, {"error", error.message}});
    Leave();
    Close(ToGrpc(error));
  };
}

WorkerStream::Step WorkerStream::Skip(const base::Error& error) {
  return [this, error] {
    backend_.log.Warning("worker_message_skipped", {{"worker", worker_}, {"error", error.message}});
  };
}

void WorkerStream::Send(const coordinator::WorkerCommand& command) {
  if (closed_) return;
  if (out_.size() >= kMaxOutgoing) {
    return End({base::Code::kExhausted,
                "the worker reads too slowly: " + std::to_string(kMaxOutgoing) + " messages wait"});
  }
  out_.push_back(EncodeCommand(command));
  WriteNext();
}

void WorkerStream::WriteNext() {
  if (writing_ || closed_ || out_.empty()) return;
  writing_ = true;
  StartWrite(&out_.front());
}

void WorkerStream::OnWriteDone(bool ok) {
  backend_.loop.Post([this, ok] {
    writing_ = false;
    out_.pop_front();
    if (ok) return WriteNext();
    Leave();
    Close(grpc::Status::CANCELLED);
  });
}

// A peer that does not read would never see the status behind what it does not read.
void WorkerStream::End(const base::Error& reason) {
  if (writing_ && !closed_) context_.TryCancel();
  Close(ToGrpc(reason));
}

void WorkerStream::OnCancel() {
  backend_.loop.Post([this] {
    Leave();
    Close(grpc::Status::CANCELLED);
  });
}

void WorkerStream::OnDone() {
  backend_.loop.Post([this] {
    Leave();
    backend_.worker_streams.Remove(this);
    delete this;
  });
}

void WorkerStream::Leave() {
  if (!worker_.empty()) backend_.coordinator.WorkerLeft(*this, worker_);
}

void WorkerStream::Close(const grpc::Status& status) {
  if (std::exchange(closed_, true)) return;
  Finish(status);
}

}  // namespace trainctl::rpc
