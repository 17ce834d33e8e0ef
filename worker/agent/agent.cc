#include "worker/agent/agent.h"

#include <spdlog/spdlog.h>
#include <sys/file.h>

#include <boost/asio/post.hpp>
#include <filesystem>
#include <utility>

#include "common/base/boot_id.h"
#include "common/base/version.h"
#include "common/wire/artifact.h"
#include "common/wire/deadline.h"
#include "common/wire/device.h"
#include "common/wire/device_fault.h"
#include "common/wire/host_rules.h"
#include "common/wire/output_removal.h"
#include "common/wire/rank_key.h"
#include "proto/trainctl.pb.h"
#include "worker/agent/data_interface.h"
#include "worker/agent/encode.h"
#include "worker/agent/rank_records.h"
#include "worker/agent/spawn.h"
#include "worker/shim/process_table.h"

namespace trainctl::agent {
namespace {

// Less than the coordinator's (server/coordinator/output_removals.h).
constexpr std::chrono::seconds kRemovalPatience{90};

// The rank that a message is about; nullopt, and a word in the log, where it names none.
template <class Message>
std::optional<job::RankKey> KeyOf(const Message& message) {
  const base::Result<job::RankKey> key =
      wire::ReadRankKey(message.job(), message.attempt(), message.rank());
  if (key) return *key;
  spdlog::error("a message of the coordinator is passed over: {}", key.error().message);
  return std::nullopt;
}

// nullopt: it has none. One that can't be read is passed over with a word in the log.
template <class Message>
std::optional<job::Deadline> ReadDeadline(const Message& message) {
  if (!message.has_deadline()) return std::nullopt;
  base::Result<job::Deadline> deadline = wire::FromWire(message.deadline());
  if (deadline) return *std::move(deadline);
  spdlog::error("a deadline of the coordinator's is passed over: {}", deadline.error().message);
  return std::nullopt;
}

}  // namespace

Agent::Agent(boost::asio::io_context& io, const base::Clock& clock, AgentOptions options,
             Device& device)
    : io_(io),
      clock_(clock),
      options_(std::move(options)),
      device_(device),
      device_watch_(device, clock),
      fault_watch_(device, clock),
      launch_ability_(options_.directory, clock,
                      std::chrono::microseconds(options_.launch_rest).count()),
      inspections_(io, {options_.inspection_program,
                        WithVariables(options_.environment, device.Environment()),
                        options_.inspect_timeout}),
      artifact_reader_(io,
                       [rules = options_.rules](const job::ArtifactQuestion& question) {
                         return agent::ReadArtifact(question, rules);
                       }),
      output_remover_(
          io,
          [rules = options_.rules](const job::RemovalQuestion& question) {
            return agent::RemoveOutputs(question, rules);
          },
          kRemovalPatience),
      tick_timer_(io),
      settle_timer_(io),
      uplink_(io, options_.uplink,
              {.on_up = [this](const std::string& local_address) { Up(local_address); },
               .on_message = [this](const v1::CoordinatorMessage& message) { Receive(message); },
               .on_writable = [this] { Pump(); },
               .on_down = [this](const base::Error& reason) { Down(reason); }}) {}

// A thread that hangs in the kernel may keep the descriptor open: the lock is given back by name.
Agent::~Agent() {
  *alive_ = false;
  if (worker_folder_.lock.open()) ::flock(worker_folder_.lock.get(), LOCK_UN);
}

base::Status Agent::Start() {
  base::Result<WorkerFolder> folder = TakeFolder(options_.directory, options_.incarnation);
  if (!folder) return folder.error();
  if (options_.rules.run_as_owner) {
    if (const base::Status opened = OpenWayToRanks(options_.directory); !opened)
      return opened.error();
  }
  worker_folder_ = std::move(*folder);
  for (const job::RankKey& key : FindRanks(options_.directory)) {
    spdlog::info("{}: taken up again", job::ToString(key));
    Hold(key).Adopt();
  }
  uplink_.Start();
  TickLater();
  return base::Ok{};
}

// ---- the coordinator ----

void Agent::Up(const std::string& local_address) {
  address_ = options_.data_interface.empty() ? local_address : options_.data_interface;
  v1::WorkerMessage message;
  v1::Hello& hello = *message.mutable_hello();
  hello.set_name(options_.name);
  hello.set_host(options_.host);
  hello.set_boot_id(base::BootId());
  hello.set_version(std::string(base::Version()));
  job::Device device = device_.info();
  device.labels = options_.labels;
  device.host_memory_bytes = host_sampler_.MemoryBytes();
  *hello.mutable_device() = wire::ToWire(device);
  const DeviceWord word = device_watch_.Look(Use());
  hello.set_device_free(word.free);
  hello.set_device_reason(word.reason);
  fault_watch_.Look();
  wire::ToWire(fault_watch_.faults(), hello.mutable_device_faults());
  faults_untold_ = false;
  hello.set_identity(worker_folder_.identity);
  hello.set_incarnation(options_.incarnation);
  hello.set_stream(++streams_);
  hello.set_address(address_);
  for (const auto& [key, rank] : held_) {
    v1::HeldRank& held = *hello.add_held();
    wire::WriteRankKey(key, &held);
    held.set_running(rank->running());
    held.set_site(ReadSite(rank->folder()));
  }
  *hello.mutable_rules() = wire::ToWire(options_.rules);
  uplink_.Send(std::move(message));
}

// A refusal may pass: the coordinator may not know yet that this worker's last process has ended.
void Agent::Down(const base::Error& reason) {
  welcomed_ = false;
  if (options_.on_status) options_.on_status("the coordinator is away: " + reason.message);
  if (reason.code != base::Code::kConflict) return;
  const base::SteadyMicros now = clock_.Steady();
  if (refused_since_ == 0) refused_since_ = now;
  const std::chrono::microseconds refused(now - refused_since_);
  if (refused >= options_.refusal_patience && options_.on_refused)
    options_.on_refused("the coordinator refuses this worker: " + reason.message);
}

void Agent::Receive(const v1::CoordinatorMessage& message) {
  switch (message.message_case()) {
    case v1::CoordinatorMessage::kWelcome: return Welcomed(message);
    case v1::CoordinatorMessage::kInspect: return Inspect(message.inspect());
    case v1::CoordinatorMessage::kArtifact: return ReadArtifact(message.artifact());
    case v1::CoordinatorMessage::kOutputs: return RemoveOutputs(message.outputs());
    case v1::CoordinatorMessage::kStart:
      if (const auto key = KeyOf(message.start())) StartRank(*key, message.start());
      return;
    case v1::CoordinatorMessage::kDeadline:
      if (HeldRank* rank = Find(KeyOf(message.deadline())))
        rank->Keep(ReadDeadline(message.deadline()));
      return;
    case v1::CoordinatorMessage::kPeers:
      if (HeldRank* rank = Find(KeyOf(message.peers()))) rank->GivePeers(message.peers().blob());
      return;
    case v1::CoordinatorMessage::kStop:
      if (HeldRank* rank = Find(KeyOf(message.stop()))) rank->Stop(message.stop().grace_seconds());
      return;
    case v1::CoordinatorMessage::kRelease:
      if (HeldRank* rank = Find(KeyOf(message.release()))) rank->Release();
      return;
    case v1::CoordinatorMessage::kAck:
      if (HeldRank* rank = Find(KeyOf(message.ack()))) rank->Acknowledge(message.ack().sequence());
      return Pump();
    case v1::CoordinatorMessage::kLogAck:
      if (HeldRank* rank = Find(KeyOf(message.log_ack())))
        rank->AcknowledgeLog(message.log_ack().offset(), message.log_ack().again());
      return Pump();
    default:
      spdlog::warn("a message of the coordinator is passed over: this version does not know it");
  }
}

void Agent::Welcomed(const v1::CoordinatorMessage& message) {
  spdlog::info("connected to the coordinator as {}", options_.name);
  if (options_.on_status) options_.on_status("connected to the coordinator as " + options_.name);
  std::map<job::RankKey, std::pair<int64_t, int64_t>> stored;  // sequence, log offset
  for (const v1::Ack& ack : message.welcome().acks()) {
    if (const auto key = KeyOf(ack)) stored[*key].first = ack.sequence();
  }
  for (const v1::LogAck& ack : message.welcome().log_acks()) {
    if (const auto key = KeyOf(ack)) stored[*key].second = ack.offset();
  }
  for (const auto& [key, rank] : held_) rank->Resume(stored[key].first, stored[key].second);
  welcomed_ = true;
  refused_since_ = 0;
  uplink_.Healthy();
  device_watch_.Forget();
  CheckFaults();
  CheckDevice();
  Pump();
}

void Agent::StartRank(const job::RankKey& key, const v1::StartRank& message) {
  if (Find(key)) return;  // said again after a reconnect
  spdlog::info("{}: starting", job::ToString(key));
  if (const base::Status kept = KeepRanksFolder(options_.directory); !kept)
    spdlog::error("{}", kept.error().message);
  const std::optional<job::DeviceSample> gpu =
      SampleUsage().gpu;  // and the host's CPU time counts from here
  HeldRank::Launch launch{.host = options_.host,
                          .plan_json = message.plan_json(),
                          .bind_address = address_,
                          .device_number = device_.info().index,
                          .host_cpus = options_.host_cpus,
                          .host_devices = device_.HostDevices(options_.host_cpus),
                          .rank_program = options_.rank_program,
                          .shim = {.program = options_.shim_program,
                                   .arguments = options_.shim_arguments,
                                   .environment = RankEnvironment()}};
  if (gpu) launch.energy_joules = gpu->energy_joules;
  launch.rules = options_.rules;
  launch.deadline = ReadDeadline(message);
  Hold(key).Start(launch);
}

std::vector<std::string> Agent::RankEnvironment() const {
  return WithVariables(WithVariables(options_.environment,
                                     NcclInterface(options_.data_interface, options_.environment)),
                       device_.Environment());
}

void Agent::Inspect(const v1::InspectAsk& ask) {
  const auto tell = [this, request_id = ask.request_id()](const base::Result<std::string>& answer) {
    v1::WorkerMessage message;
    message.mutable_inspect_result()->set_request_id(request_id);
    if (answer) {
      message.mutable_inspect_result()->set_inspection_json(*answer);
    } else {
      message.mutable_inspect_result()->set_error(answer.error().message);
      message.mutable_inspect_result()->set_unavailable(answer.error().code !=
                                                        base::Code::kInvalid);
    }
    uplink_.Send(std::move(message));
  };
  const base::Result<base::FileRoots> roots = job::RootsOf(options_.rules, ask.owner());
  if (!roots) return tell(roots.error());
  const base::Result<std::string> user = job::UserOf(options_.rules, ask.owner());
  if (!user) return tell(user.error());
  inspections_.Ask({ask.job_json(), *roots, *user, ask.owner()}, tell);
}

void Agent::ReadArtifact(const v1::ArtifactAsk& ask) {
  const auto send = [this,
                     request_id = ask.request_id()](const base::Result<job::ArtifactPiece>& piece) {
    uplink_.Send(Encode(request_id, piece));
  };
  artifact_reader_.Ask(wire::FromWire(ask), send);
}

void Agent::RemoveOutputs(const v1::OutputsAsk& ask) {
  const auto send = [this, request_id = ask.request_id(), job = ask.job(), path = ask.path(),
                     looks = ask.look_only()](const base::Result<job::RemovalAnswer>& removal) {
    if (!looks && removal)
      spdlog::info("{}: {} files of {} were removed", path, removal->files, job);
    uplink_.Send(Encode(request_id, removal));
  };
  output_remover_.Ask(wire::FromWire(ask), send);
}

// ---- ranks ----

HeldRank* Agent::Find(const std::optional<job::RankKey>& key) {
  const auto found = key ? held_.find(*key) : held_.end();
  return found == held_.end() ? nullptr : found->second.get();
}

HeldRank& Agent::Hold(const job::RankKey& key) {
  HeldRank::Callbacks callbacks{.use = [this] { return SampleUsage(); },
                                .on_news = [this] { Pump(); },
                                .on_ended = [this, key] { RankEnded(key); },
                                .on_removable = [this, key] { RemoveLater(key); }};
  return *(held_[key] =
               std::make_unique<HeldRank>(io_, clock_, key, RankFolder(options_.directory, key),
                                          std::move(callbacks), options_.shim_patience));
}

void Agent::RankEnded(const job::RankKey& key) {
  const shim::ExitRecord& end = *held_.at(key)->end();
  if (end.launch_error.empty()) launch_ability_.Succeeded();
  if (end.worker_fault) launch_ability_.Failed(end.launch_error);
  device_watch_.RankEnded();
  CheckFaults();  // they are told before the end that they caused
  Pump();
  CheckDevice();
}

// Not from inside the rank's own call.
void Agent::RemoveLater(const job::RankKey& key) {
  boost::asio::post(io_, [this, alive = alive_, key] {
    if (!*alive) return;
    held_.erase(key);
    std::error_code error;
    std::filesystem::remove_all(RankFolder(options_.directory, key), error);
    if (error)
      spdlog::error("{}: its folder can't be removed: {}", job::ToString(key), error.message());
  });
}

// ---- what is sent by itself ----

// One message of each rank in turn, as long as the stream takes them.
void Agent::Pump() {
  for (bool sent = welcomed_; sent && uplink_.writable();) {
    sent = false;
    for (const auto& [key, rank] : held_) {
      std::optional<v1::WorkerMessage> message = uplink_.writable() ? rank->Next() : std::nullopt;
      if (!message) continue;
      uplink_.Send(std::move(*message));
      sent = true;
    }
  }
}

void Agent::Tick() {
  Usage usage = SampleUsage();
  usage.host.trouble = Trouble();
  std::optional<RankSample> rank_sample;
  OwnProcesses own;
  for (const auto& [key, rank] : held_) {
    rank->StopIfDue();
    rank->Sample(usage);
    rank->SendLogAgainIfStalled();
    if (!rank->running()) continue;
    own.rank_runs = true;
    rank_sample = rank->last_sample();
    if (rank_sample) own.pids = rank_sample->processes;
  }
  job::DeviceSample device =
      usage.gpu ? *usage.gpu : SlotSample(rank_sample, device_.info().threads);
  device.foreign = foreign_processes_.Among(device_.Processes(), own);
  if (welcomed_ && uplink_.writable()) uplink_.Send(EncodeHeartbeat(device, usage.host));
  CheckFaults();
  CheckDevice();
  Pump();
}

// What the disk refuses, its shim holds in memory: who waits for it is to know why.
std::string Agent::Trouble() const {
  for (const auto& [key, rank] : held_) {
    if (rank->files_error() != 0) return WhyUnwritable(options_.directory, rank->files_error());
  }
  return "";
}

Usage Agent::SampleUsage() { return {device_.Sample(), host_sampler_.Sample()}; }

void Agent::TickLater() {
  tick_timer_.expires_after(options_.sample_interval);
  tick_timer_.async_wait([this, alive = alive_](boost::system::error_code error) {
    if (!*alive || error) return;
    Tick();
    TickLater();
  });
}

// The device tells each fault once: what can't be passed on now waits for the Welcome.
void Agent::CheckFaults() {
  faults_untold_ |= fault_watch_.Look();
  if (!faults_untold_ || !welcomed_) return;
  uplink_.Send(Encode(fault_watch_.faults()));
  faults_untold_ = false;
}

// While the coordinator is away nothing is told: the next Hello says how the device is.
void Agent::CheckDevice() {
  if (!welcomed_) return;
  if (const std::optional<DeviceWord> word = device_watch_.Check(Use()))
    uplink_.Send(Encode(*word));
  if (!device_watch_.settling()) return;
  settle_timer_.expires_after(options_.settle_interval);
  settle_timer_.async_wait([this, alive = alive_](boost::system::error_code error) {
    if (*alive && !error) CheckDevice();
  });
}

DeviceUse Agent::Use() {
  DeviceUse use;
  for (const auto& [key, rank] : held_) {
    if (rank->running())
      use.rank_runs = true;
    else if (!rank->gone())
      use.leftovers = "processes of " + job::ToString(key) + " could not be ended";
  }
  if (!use.rank_runs) use.unable = launch_ability_.WhyNot();
  return use;
}

}  // namespace trainctl::agent
