#include "server/rpc/worker_messages.h"

#include <algorithm>
#include <initializer_list>
#include <type_traits>
#include <utility>
#include <variant>

#include "common/job/rank_json.h"
#include "common/wire/rank_report.h"
#include "proto/trainctl.pb.h"

namespace trainctl::rpc {
namespace {

constexpr size_t kMaxTextBytes = 256;

base::Error Invalid(const std::string& text) { return {base::Code::kInvalid, text}; }

core::RankKey ToCore(const wire::RankKey& key) { return {key.job, key.attempt, key.rank}; }
wire::RankKey ToWireKey(const core::RankKey& key) { return {key.job, key.attempt, key.rank}; }

// The rank's own messages are the same on both sides; what the worker says about a rank has the core's own type.
core::ReportBody ToCore(wire::ReportBody body) {
  return std::visit(
      [](auto&& b) -> core::ReportBody {
        using Body = std::decay_t<decltype(b)>;
        if constexpr (std::is_same_v<Body, wire::RankExit>) {
          return core::RankExit{b.exit_code, b.signal, b.oom_killed, std::move(b.last_log_lines)};
        } else if constexpr (std::is_same_v<Body, wire::LaunchFailure>) {
          return core::LaunchFailure{std::move(b.message)};
        } else {
          return std::forward<decltype(b)>(b);
        }
      },
      std::move(body));
}

bool IsName(const std::string& text) {
  const auto is_plain = [](unsigned char c) { return c > 0x20 && c < 0x7f; };
  return !text.empty() && text.size() <= kMaxTextBytes && std::all_of(text.begin(), text.end(), is_plain);
}

// What people see of a worker may be any text, but not a long one.
base::Status CheckTexts(std::initializer_list<std::pair<const char*, const std::string*>> fields) {
  for (const auto& [name, text] : fields) {
    if (text->size() > kMaxTextBytes) {
      return Invalid(std::string(name) + ": " + std::to_string(text->size()) + " bytes: expected at most " + std::to_string(kMaxTextBytes));
    }
  }
  return base::Ok{};
}

base::Result<core::Device> DecodeDevice(const v1::Device& message) {
  core::Device device;
  if (message.kind() == "cuda") device.kind = job::DeviceKind::kCuda;
  else if (message.kind() == "cpu") device.kind = job::DeviceKind::kCpu;
  else return Invalid("device.kind: '" + message.kind().substr(0, kMaxTextBytes) + "': expected cuda or cpu");
  if (message.index() < 0) return Invalid("device.index: " + std::to_string(message.index()) + ": expected a number from 0");
  if (!IsName(message.uuid())) return Invalid("device.uuid: expected 1 to 256 plain characters");
  if (message.memory_bytes() < 1) {
    return Invalid("device.memory_bytes: " + std::to_string(message.memory_bytes()) + ": expected bytes, from 1");
  }
  if (message.threads() < 0) return Invalid("device.threads: " + std::to_string(message.threads()) + ": expected a number from 0");
  const base::Status texts = CheckTexts({{"device.name", &message.name()},
                                         {"device.compute_capability", &message.compute_capability()},
                                         {"device.driver", &message.driver()}});
  if (!texts) return texts.error();
  device.index = message.index();
  device.uuid = message.uuid();
  device.name = message.name();
  device.memory_bytes = message.memory_bytes();
  device.compute_capability = message.compute_capability();
  device.driver = message.driver();
  device.threads = std::max<int64_t>(1, message.threads());
  return device;
}

v1::Ack EncodeAck(const core::RankKey& key, int64_t sequence) {
  v1::Ack ack;
  wire::WriteRankKey(ToWireKey(key), &ack);
  ack.set_sequence(sequence);
  return ack;
}

v1::LogAck EncodeLogAck(const coordinator::LogStored& stored) {
  v1::LogAck ack;
  wire::WriteRankKey(ToWireKey(stored.key), &ack);
  ack.set_offset(stored.offset);
  return ack;
}

void Write(const coordinator::WelcomeWorker& command, v1::CoordinatorMessage* message) {
  v1::Welcome* welcome = message->mutable_welcome();
  for (const core::AckRow& ack : command.acks) *welcome->add_acks() = EncodeAck(ack.key, ack.sequence);
  for (const coordinator::LogStored& stored : command.logs) *welcome->add_log_acks() = EncodeLogAck(stored);
}

void Write(const core::StartRank& command, v1::CoordinatorMessage* message) {
  wire::WriteRankKey(ToWireKey(command.key), message->mutable_start());
  message->mutable_start()->set_plan_json(job::ToJson(command.plan));
}

void Write(const core::SendPeers& command, v1::CoordinatorMessage* message) {
  wire::WriteRankKey(ToWireKey(command.key), message->mutable_peers());
  message->mutable_peers()->set_blob(command.blob);
}

void Write(const core::StopRank& command, v1::CoordinatorMessage* message) {
  wire::WriteRankKey(ToWireKey(command.key), message->mutable_stop());
  message->mutable_stop()->set_grace_seconds(static_cast<double>(command.grace_us) / 1e6);
}

void Write(const core::ReleaseRank& command, v1::CoordinatorMessage* message) {
  wire::WriteRankKey(ToWireKey(command.key), message->mutable_release());
}

void Write(const core::AckReport& command, v1::CoordinatorMessage* message) {
  *message->mutable_ack() = EncodeAck(command.key, command.sequence);
}

void Write(const coordinator::LogStored& command, v1::CoordinatorMessage* message) { *message->mutable_log_ack() = EncodeLogAck(command); }

void Write(const coordinator::AskInspect& command, v1::CoordinatorMessage* message) {
  message->mutable_inspect()->set_request_id(command.request_id);
  message->mutable_inspect()->set_job_json(command.job_json);
}

void Write(const coordinator::AskArtifact& command, v1::CoordinatorMessage* message) {
  v1::ArtifactAsk* ask = message->mutable_artifact();
  ask->set_request_id(command.request_id);
  ask->set_path(command.path);
  ask->set_file(command.file);
  ask->set_offset(command.offset);
}

}  // namespace

base::Result<core::WorkerHello> DecodeHello(const v1::Hello& message) {
  if (!IsName(message.name())) return Invalid("hello.name: expected 1 to 256 plain characters, such as host/0");
  if (!IsName(message.host())) return Invalid("hello.host: expected 1 to 256 plain characters");
  if (message.held_size() > kMaxHeldRanks) return Invalid("hello.held: " + std::to_string(message.held_size()) + " ranks: damaged");
  auto device = DecodeDevice(message.device());
  if (!device) return Invalid("hello." + device.error().message);
  const base::Status texts =
      CheckTexts({{"boot_id", &message.boot_id()}, {"version", &message.version()}, {"address", &message.address()}});
  if (!texts) return Invalid("hello." + texts.error().message);
  core::WorkerHello hello;
  hello.worker.name = message.name();
  hello.worker.host = message.host();
  hello.worker.boot_id = message.boot_id();
  hello.worker.version = message.version();
  hello.worker.address = message.address();
  hello.worker.device = std::move(*device);
  hello.device_free = message.device_free();
  for (const v1::HeldRank& held : message.held()) {
    const auto key = wire::ReadRankKey(held.job(), held.attempt(), held.rank());
    if (!key) return Invalid("hello.held." + key.error().message);
    hello.held.push_back({ToCore(*key), held.running()});
  }
  return hello;
}

base::Result<core::RankReported> DecodeReport(const std::string& worker, const v1::RankReport& message) {
  auto report = wire::FromWire(message);
  if (!report) return report.error();
  return core::RankReported{worker, ToCore(report->key), report->sequence, ToCore(std::move(report->body))};
}

base::Result<LogPlace> DecodeLogPlace(const v1::LogReport& report) {
  const auto key = wire::ReadRankKey(report.job(), report.attempt(), report.rank());
  if (!key) return key.error();
  if (report.offset() < 0) return Invalid("offset: " + std::to_string(report.offset()) + ": expected a number from 0");
  return LogPlace{ToCore(*key), report.offset()};
}

coordinator::DeviceSample DecodeSample(const v1::DeviceSample& sample) {
  return {sample.utilization_percent(), sample.memory_used_bytes(), sample.power_watts(), sample.temperature_celsius(),
          sample.energy_joules()};
}

coordinator::HostSample DecodeSample(const v1::HostSample& sample) {
  return {sample.cpu_percent(), sample.memory_used_bytes(), sample.memory_total_bytes()};
}

base::Result<coordinator::ArtifactPiece> DecodeArtifactPiece(v1::ReadArtifactResponse* message) {
  if (message->files_size() > kMaxFiles || message->data().size() > kMaxPieceBytes) {
    return Invalid("artifact_result: " + std::to_string(message->files_size()) + " files, " + std::to_string(message->data().size()) +
                   " bytes: more than may be in one answer");
  }
  coordinator::ArtifactPiece piece;
  for (v1::ArtifactFile& file : *message->mutable_files()) piece.files.push_back({std::move(*file.mutable_path()), file.bytes()});
  piece.data = std::move(*message->mutable_data());
  return piece;
}

v1::CoordinatorMessage EncodeCommand(const coordinator::WorkerCommand& command) {
  v1::CoordinatorMessage message;
  std::visit([&message](const auto& concrete) { Write(concrete, &message); }, command);
  return message;
}

}  // namespace trainctl::rpc
