#include "tests/agent/fake_coordinator.h"

#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <chrono>
#include <stdexcept>

#include "proto/trainctl.grpc.pb.h"

namespace trainctl::tests {
namespace {

template <class Message>
job::RankKey KeyOf(const Message& message) {
  return *wire::ReadRankKey(message.job(), message.attempt(), message.rank());
}

bool IsEnd(const job::ReportBody& body) {
  return std::holds_alternative<job::RankExit>(body) ||
         std::holds_alternative<job::LaunchFailure>(body);
}

}  // namespace

using Stream = grpc::ServerReaderWriter<v1::CoordinatorMessage, v1::WorkerMessage>;

class FakeCoordinator::Service : public v1::WorkerGateway::Service {
 public:
  explicit Service(FakeCoordinator& owner) : owner_(owner) {}

  grpc::Status Connect(grpc::ServerContext*, Stream* stream) override {
    v1::WorkerMessage message;
    while (stream->Read(&message)) {
      const std::lock_guard lock(owner_.mutex_);
      if (message.has_hello()) {
        owner_.told_.hellos.push_back(message.hello());
        owner_.changed_.notify_all();
        if (!owner_.refusal_.empty())
          return grpc::Status(grpc::StatusCode::FAILED_PRECONDITION, owner_.refusal_);
        newest_ = stream;
        if (owner_.welcomes_) stream->Write(Welcome(message.hello()));
      }
      Take(message, *stream);
      owner_.changed_.notify_all();
    }
    const std::lock_guard lock(owner_.mutex_);
    if (newest_ == stream) newest_ = nullptr;
    return grpc::Status::OK;
  }

  Stream* newest_ = nullptr;  // under the owner's mutex

 private:
  v1::CoordinatorMessage Welcome(const v1::Hello& hello) {
    v1::CoordinatorMessage message;
    message.mutable_welcome();
    for (const v1::HeldRank& held : hello.held()) {
      const job::RankKey key = KeyOf(held);
      v1::Ack& ack = *message.mutable_welcome()->add_acks();
      wire::WriteRankKey(key, &ack);
      ack.set_sequence(static_cast<int64_t>(owner_.told_.reports[key].size()));
      v1::LogAck& log_ack = *message.mutable_welcome()->add_log_acks();
      wire::WriteRankKey(key, &log_ack);
      log_ack.set_offset(static_cast<int64_t>(owner_.told_.logs[key].size()));
    }
    return message;
  }

  void Take(const v1::WorkerMessage& message, Stream& stream) {
    Told& told = owner_.told_;
    if (message.has_report()) TakeReport(message.report(), stream);
    if (message.has_log()) TakeLog(message.log(), stream);
    if (message.has_inspect_result()) told.inspections.push_back(message.inspect_result());
    if (message.has_artifact_result()) told.artifacts.push_back(message.artifact_result());
    if (message.has_outputs_result()) told.outputs.push_back(message.outputs_result());
    if (message.has_device_state()) told.device_states.push_back(message.device_state());
    if (message.has_device_faults()) told.device_faults.push_back(message.device_faults());
    if (message.has_heartbeat()) {
      ++told.heartbeats;
      told.last_heartbeat = message.heartbeat();
    }
  }

  void TakeReport(const v1::RankReport& message, Stream& stream) {
    Told& told = owner_.told_;
    const auto report = wire::FromWire(message);
    if (!report) return told.faults.push_back(report.error().message);
    auto& stored = told.reports[report->key];
    const auto next = static_cast<int64_t>(stored.size()) + 1;
    if (report->sequence > next) {
      return told.faults.push_back("report " + std::to_string(report->sequence) + " came before " +
                                   std::to_string(next));
    }
    if (report->sequence < next)
      ++told.repeated_reports;
    else
      stored.push_back(*report);
    if (!owner_.acks_) return;
    v1::CoordinatorMessage answer;
    wire::WriteRankKey(report->key, answer.mutable_ack());
    answer.mutable_ack()->set_sequence(static_cast<int64_t>(stored.size()));
    stream.Write(answer);
  }

  void TakeLog(const v1::LogReport& message, Stream& stream) {
    std::string& log = owner_.told_.logs[KeyOf(message)];
    const auto stored = static_cast<int64_t>(log.size());
    if (message.offset() > stored)
      owner_.told_.faults.push_back("a gap in the log at " + std::to_string(stored));
    const int64_t known = stored - message.offset();
    if (known < static_cast<int64_t>(message.data().size()))
      log += message.data().substr(static_cast<size_t>(known));
    v1::CoordinatorMessage answer;
    wire::WriteRankKey(KeyOf(message), answer.mutable_log_ack());
    answer.mutable_log_ack()->set_offset(static_cast<int64_t>(log.size()));
    stream.Write(answer);
  }

  FakeCoordinator& owner_;
};

class FakeCoordinator::Running {
 public:
  explicit Running(FakeCoordinator& owner) : service(owner) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(&service);
    server = builder.BuildAndStart();
  }
  ~Running() { server->Shutdown(std::chrono::system_clock::now()); }

  int port = 0;
  Service service;
  std::unique_ptr<grpc::Server> server;
};

FakeCoordinator::FakeCoordinator() { ComeBack(); }

FakeCoordinator::~FakeCoordinator() = default;

std::string FakeCoordinator::address() const {
  return "127.0.0.1:" + std::to_string(running_->port);
}

void FakeCoordinator::GoAway() { running_.reset(); }

void FakeCoordinator::ComeBack() { running_ = std::make_unique<Running>(*this); }

void FakeCoordinator::Refuse(const std::string& reason) {
  const std::lock_guard lock(mutex_);
  refusal_ = reason;
}

void FakeCoordinator::WithholdWelcomes() {
  const std::lock_guard lock(mutex_);
  welcomes_ = false;
}

void FakeCoordinator::WithholdAcks() {
  const std::lock_guard lock(mutex_);
  acks_ = false;
}

void FakeCoordinator::Send(const v1::CoordinatorMessage& message) {
  std::unique_lock lock(mutex_);
  const bool connected =
      changed_.wait_for(lock, kDeadline, [&] { return running_->service.newest_ != nullptr; });
  if (!connected) throw std::runtime_error("no worker connected");
  running_->service.newest_->Write(message);
}

void FakeCoordinator::Start(const job::RankKey& key, const std::string& plan_json) {
  v1::CoordinatorMessage message;
  wire::WriteRankKey(key, message.mutable_start());
  message.mutable_start()->set_plan_json(plan_json);
  Send(message);
}

void FakeCoordinator::Stop(const job::RankKey& key, double grace_seconds) {
  v1::CoordinatorMessage message;
  wire::WriteRankKey(key, message.mutable_stop());
  message.mutable_stop()->set_grace_seconds(grace_seconds);
  Send(message);
}

void FakeCoordinator::Peers(const job::RankKey& key, const std::string& blob) {
  v1::CoordinatorMessage message;
  wire::WriteRankKey(key, message.mutable_peers());
  message.mutable_peers()->set_blob(blob);
  Send(message);
}

void FakeCoordinator::Release(const job::RankKey& key) {
  v1::CoordinatorMessage message;
  wire::WriteRankKey(key, message.mutable_release());
  Send(message);
}

void FakeCoordinator::Await(const std::string& what,
                            const std::function<bool(const Told&)>& condition) {
  std::unique_lock lock(mutex_);
  if (!changed_.wait_for(lock, kDeadline, [&] { return condition(told_); }))
    throw std::runtime_error("waited in vain for " + what);
}

job::ReportBody FakeCoordinator::AwaitEnd(const job::RankKey& key) {
  Await("the end of " + job::ToString(key), [&](const Told& told) {
    const auto reports = told.reports.find(key);
    return reports != told.reports.end() && !reports->second.empty() &&
           IsEnd(reports->second.back().body);
  });
  return told().reports[key].back().body;
}

FakeCoordinator::Told FakeCoordinator::told() const {
  const std::lock_guard lock(mutex_);
  return told_;
}

}  // namespace trainctl::tests
