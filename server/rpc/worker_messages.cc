#include "server/rpc/worker_messages.h"

#include <algorithm>
#include <initializer_list>
#include <utility>
#include <variant>

#include "common/estimate/memory_estimate.h"
#include "common/rank/rank_json.h"
#include "common/wire/artifact.h"
#include "common/wire/deadline.h"
#include "common/wire/device.h"
#include "common/wire/device_fault.h"
#include "common/wire/host_rules.h"
#include "common/wire/output_removal.h"
#include "common/wire/rank_key.h"
#include "common/wire/rank_report.h"
#include "common/wire/texts.h"
#include "proto/trainctl.pb.h"

namespace trainctl::rpc {
namespace {

base::Error Invalid(const std::string& text) { return {base::Code::kInvalid, text}; }

v1::Ack EncodeAck(const job::RankKey& key, int64_t sequence) {
  v1::Ack ack;
  wire::WriteRankKey(key, &ack);
  ack.set_sequence(sequence);
  return ack;
}

v1::LogAck EncodeLogAck(const coordinator::LogStored& stored) {
  v1::LogAck ack;
  wire::WriteRankKey(stored.key, &ack);
  ack.set_offset(stored.offset);
  ack.set_again(stored.again);
  return ack;
}

void Write(const coordinator::WelcomeWorker& command, v1::CoordinatorMessage* message) {
  v1::Welcome* welcome = message->mutable_welcome();
  for (const core::AckRow& ack : command.acks)
    *welcome->add_acks() = EncodeAck(ack.key, ack.sequence);
  for (const coordinator::LogStored& stored : command.logs)
    *welcome->add_log_acks() = EncodeLogAck(stored);
}

void Write(const core::StartRank& command, v1::CoordinatorMessage* message) {
  wire::WriteRankKey(command.key, message->mutable_start());
  message->mutable_start()->set_plan_json(job::ToJson(command.plan));
  if (command.deadline)
    *message->mutable_start()->mutable_deadline() = wire::ToWire(*command.deadline);
}

void Write(const core::KeepDeadline& command, v1::CoordinatorMessage* message) {
  wire::WriteRankKey(command.key, message->mutable_deadline());
  if (command.deadline)
    *message->mutable_deadline()->mutable_deadline() = wire::ToWire(*command.deadline);
}

void Write(const core::SendPeers& command, v1::CoordinatorMessage* message) {
  wire::WriteRankKey(command.key, message->mutable_peers());
  message->mutable_peers()->set_blob(command.blob);
}

void Write(const core::StopRank& command, v1::CoordinatorMessage* message) {
  wire::WriteRankKey(command.key, message->mutable_stop());
  message->mutable_stop()->set_grace_seconds(static_cast<double>(command.grace_us) / 1e6);
}

void Write(const core::ReleaseRank& command, v1::CoordinatorMessage* message) {
  wire::WriteRankKey(command.key, message->mutable_release());
}

void Write(const core::AckReport& command, v1::CoordinatorMessage* message) {
  *message->mutable_ack() = EncodeAck(command.key, command.sequence);
}

void Write(const coordinator::LogStored& command, v1::CoordinatorMessage* message) {
  *message->mutable_log_ack() = EncodeLogAck(command);
}

void Write(const coordinator::AskInspect& command, v1::CoordinatorMessage* message) {
  message->mutable_inspect()->set_request_id(command.request_id);
  message->mutable_inspect()->set_job_json(command.job_json);
  message->mutable_inspect()->set_owner(command.owner);
}

void Write(const coordinator::AskArtifact& command, v1::CoordinatorMessage* message) {
  *message->mutable_artifact() = wire::ToWire(command.question);
  message->mutable_artifact()->set_request_id(command.request_id);
}

void Write(const coordinator::AskOutputs& command, v1::CoordinatorMessage* message) {
  *message->mutable_outputs() = wire::ToWire(command.question);
  message->mutable_outputs()->set_request_id(command.request_id);
}

}  // namespace

base::Result<core::WorkerHello> DecodeHello(const v1::Hello& message) {
  if (!wire::IsName(message.name()))
    return Invalid("hello.name: expected 1 to 256 plain characters, such as host/0");
  if (!wire::IsName(message.host()))
    return Invalid("hello.host: expected 1 to 256 plain characters");
  if (message.held_size() > kMaxHeldRanks)
    return Invalid("hello.held: " + std::to_string(message.held_size()) + " ranks: damaged");
  auto device = wire::FromWire(message.device());
  if (!device) return Invalid("hello." + device.error().message);
  const base::Status texts = wire::CheckTexts({{"boot_id", &message.boot_id()},
                                               {"version", &message.version()},
                                               {"address", &message.address()},
                                               {"identity", &message.identity()},
                                               {"incarnation", &message.incarnation()}});
  if (!texts) return Invalid("hello." + texts.error().message);
  core::WorkerHello hello;
  hello.worker.name = message.name();
  hello.worker.host = message.host();
  hello.worker.boot_id = message.boot_id();
  hello.worker.version = message.version();
  hello.worker.address = message.address();
  hello.worker.identity = message.identity();
  hello.incarnation = message.incarnation();
  hello.stream = message.stream();
  hello.worker.device = std::move(*device);
  hello.device_free = message.device_free();
  hello.device_reason = message.device_reason();
  hello.faults = wire::FromWire(message.device_faults());
  auto rules = wire::FromWire(message.rules());
  if (!rules) return Invalid("hello." + rules.error().message);
  hello.rules = std::move(*rules);
  for (const v1::HeldRank& held : message.held()) {
    const auto key = wire::ReadRankKey(held.job(), held.attempt(), held.rank());
    if (!key) return Invalid("hello.held." + key.error().message);
    if (!held.site().empty() && !wire::IsName(held.site()))
      return Invalid("hello.held.site: expected 1 to 256 plain characters, or none");
    hello.held.push_back({*key, held.running(), held.site()});
  }
  return hello;
}

base::Result<core::RankReported> DecodeReport(const std::string& worker,
                                              const v1::RankReport& message) {
  auto report = wire::FromWire(message);
  if (!report) return report.error();
  return core::RankReported{worker, report->key, report->sequence, std::move(report->body),
                            report->age_us};
}

base::Result<coordinator::LogPiece> DecodeLog(const v1::LogReport& report) {
  const auto key = wire::ReadRankKey(report.job(), report.attempt(), report.rank());
  if (!key) return key.error();
  if (report.offset() < 0)
    return Invalid("offset: " + std::to_string(report.offset()) + ": expected a number from 0");
  if (report.after() < 0 || report.after() > report.offset())
    return Invalid("after: " + std::to_string(report.after()) + ": expected from 0 to the offset");
  return coordinator::LogPiece{*key, report.offset(), report.after(), report.data()};
}

base::Result<job::Inspection> DecodeInspection(const v1::InspectResult& result) {
  if (result.error().empty()) {
    auto inspection = job::InspectionFromJson(result.inspection_json());
    if (inspection) return inspection;
    return base::Error{base::Code::kUnavailable,
                       "the worker's answer can't be read: " + inspection.error().message};
  }
  return base::Error{result.unavailable() ? base::Code::kUnavailable : base::Code::kInvalid,
                     result.error()};
}

v1::CoordinatorMessage EncodeCommand(const coordinator::WorkerCommand& command) {
  v1::CoordinatorMessage message;
  std::visit([&message](const auto& concrete) { Write(concrete, &message); }, command);
  return message;
}

}  // namespace trainctl::rpc
