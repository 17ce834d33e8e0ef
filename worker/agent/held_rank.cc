#include "worker/agent/held_rank.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>
#include <variant>

#include "common/base/file.h"
#include "common/job/job_paths.h"
#include "common/rank/cpu_list.h"
#include "common/rank/rank_json.h"
#include "proto/trainctl.pb.h"
#include "worker/agent/rank_records.h"
#include "worker/shim/process_table.h"
#include "worker/shim/spool.h"

namespace trainctl::agent {
namespace {

constexpr auto kEndWaitsForLog = std::chrono::seconds(1);
constexpr auto kReleaseWaitsForLog = std::chrono::seconds(60);

// attempt.json: {"energy_joules_at_start"}, so that a later worker goes on with the same zero.
std::optional<double> ReadEnergyAtStart(const std::string& folder) {
  const base::Result<std::string> text = base::ReadFile(folder + "/attempt.json", 4096);
  if (!text) return std::nullopt;
  const nlohmann::json json = nlohmann::json::parse(*text, nullptr, false);
  if (!json.is_object() || !json.contains("energy_joules_at_start")) return std::nullopt;
  return json["energy_joules_at_start"].is_number()
             ? std::optional(json["energy_joules_at_start"].get<double>())
             : std::nullopt;
}

std::string OfHost(const HeldRank::Launch& launch, const std::string& message) {
  return launch.host.empty() ? message : "host " + launch.host + ": " + message;
}

// Whatever the coordinator left to this host.
base::Result<job::RankPlan> CompletePlan(const HeldRank::Launch& launch,
                                         const std::string& scratch) {
  base::Result<job::RankPlan> plan = job::RankPlanFromJson(launch.plan_json);
  if (!plan)
    return base::Error{plan.error().code,
                       "the coordinator's plan can't be read: " + plan.error().message};
  base::Result<base::FileRoots> roots = job::RootsOf(launch.rules, plan->owner);
  if (!roots) return base::Error{roots.error().code, OfHost(launch, roots.error().message)};
  plan->roots = std::move(*roots);
  plan->bind_address = launch.bind_address;
  plan->directory = scratch;
  plan->cpus =
      job::CpuListText(CpusOf(*plan, launch.device_number, launch.host_cpus, launch.host_devices));
  if (plan->device == job::DeviceKind::kCuda)
    plan->device_index = 0;  // the only one that its environment shows
  return plan;
}

}  // namespace

HeldRank::HeldRank(boost::asio::io_context& io, const base::Clock& clock, const job::RankKey& key,
                   std::string folder, Callbacks callbacks, ShimPatience patience)
    : clock_(clock),
      key_(key),
      folder_(std::move(folder)),
      callbacks_(std::move(callbacks)),
      alive_(std::make_shared<bool>(true)),
      relay_(key, folder_),
      deadline_(folder_, clock),
      keeper_(io, clock, folder_,
              {.on_data = [this] { callbacks_.on_news(); },
               .on_ended = [this](const auto& record) { Ended(record); }},
              patience),
      end_timer_(io),
      release_timer_(io) {}

HeldRank::~HeldRank() { *alive_ = false; }

void HeldRank::Start(const Launch& launch) {
  ShimCommand command = launch.shim;
  const base::Status prepared = Prepare(launch, command);
  if (!prepared) return keeper_.Fail(prepared.error());
  for (const std::string& argument :
       {std::string("--"), launch.rank_program, std::string("--plan"), folder_ + "/plan.json",
        std::string("--messages-fd"), std::string("3"), std::string("--commands-fd"),
        std::string("4")}) {
    command.arguments.push_back(argument);
  }
  energy_at_start_joules_ = launch.energy_joules;
  seen_running_ = true;
  keeper_.Launch(command);
}

base::Status HeldRank::Prepare(const Launch& launch, ShimCommand& command) {
  std::error_code error;
  const std::string scratch = folder_ + "/scratch";
  std::filesystem::create_directories(scratch, error);
  if (error)
    return base::Error{base::Code::kIo,
                       "cannot make the rank's folder " + folder_ + ": " + error.message()};
  const base::Result<job::RankPlan> plan = CompletePlan(launch, scratch);
  if (!plan) return plan.error();
  const auto add = [&](const std::string& option, const std::string& value) {
    command.arguments.insert(command.arguments.end(), {option, value});
  };
  add("--host", launch.host);
  for (const job::JobPath& named : job::PathsOf(plan->job)) {
    const bool writes = named.use == base::FileUse::kWrite;
    add(named.needed ? "--needs" : writes ? "--writes" : "--reads", named.key + "=" + named.path);
  }
  const base::Result<std::string> user = job::UserOf(launch.rules, plan->owner);
  if (!user) return base::Error{user.error().code, OfHost(launch, user.error().message)};
  if (!user->empty()) add("--user", *user);
  for (const std::string& root : plan->roots.read) add("--read-root", root);
  for (const std::string& root : plan->roots.write) add("--write-root", root);
  deadline_.Set(launch.deadline);
  nlohmann::json attempt = nlohmann::json::object();
  if (launch.energy_joules) attempt["energy_joules_at_start"] = *launch.energy_joules;
  if (const base::Status written =
          base::WriteFileAtomically(folder_ + "/attempt.json", attempt.dump() + "\n");
      !written)
    return written;
  return base::WriteFileAtomically(folder_ + "/plan.json", job::ToJson(*plan));
}

void HeldRank::Adopt() {
  energy_at_start_joules_ = ReadEnergyAtStart(folder_);
  deadline_.Read();
  keeper_.Adopt();
}

void HeldRank::GivePeers(const std::string& blob) {
  if (std::exchange(peers_, blob) != blob)
    keeper_.Send(job::ToLine(job::RankCommand(job::PeersCommand{blob})));
}

void HeldRank::Stop(double grace_seconds) { keeper_.Terminate(grace_seconds); }

void HeldRank::Keep(const std::optional<job::Deadline>& deadline) { deadline_.Set(deadline); }

void HeldRank::StopIfDue() {
  if (!running()) return;
  const std::optional<job::Deadline> come = deadline_.Come();
  if (!come) return;
  spdlog::info("{}: stopped, {}", job::ToString(key_), come->message);
  Stop(static_cast<double>(come->grace_us) / 1e6);
}

bool HeldRank::gone() const {
  return end_ && std::ranges::all_of(end_->leftover_pids, [](pid_t pid) {
           const std::optional<shim::ProcessStat> process = shim::ReadStat(pid);
           return !process || process->ended();
         });
}

void HeldRank::Release() {
  if (std::exchange(released_, true)) return;
  if (running()) Stop(0);
  release_timer_.expires_after(kReleaseWaitsForLog);
  release_timer_.async_wait([this, alive = alive_](boost::system::error_code error) {
    if (*alive && !error && gone()) MakeRemovable();
  });
  CheckRemovable();
}

void HeldRank::CheckRemovable() {
  if (released_ && gone() && relay_.log_stored()) MakeRemovable();
}

void HeldRank::MakeRemovable() {
  if (!std::exchange(removable_, true)) callbacks_.on_removable();
}

void HeldRank::Ended(const shim::ExitRecord& record) {
  end_ = record;
  if (record.deadline_came) deadline_.HasCome();
  if (seen_running_ && record.launch_error.empty())
    shim::AppendToEndedSpool(folder_, SampleLine(callbacks_.use(), std::nullopt));
  relay_.SetEnd(ReportOf(record), record.ended_at);
  end_timer_.expires_after(kEndWaitsForLog);
  end_timer_.async_wait([this, alive = alive_](boost::system::error_code error) {
    if (!*alive || error) return;
    relay_.LetEndOvertakeLog();
    callbacks_.on_news();
  });
  callbacks_.on_ended();
  CheckRemovable();
}

// With the deadline that ended it.
job::ReportBody HeldRank::ReportOf(const shim::ExitRecord& record) const {
  job::ReportBody report = ToReport(record, folder_);
  const std::optional<job::Deadline> passed = deadline_.Passed();
  auto* exit = std::get_if<job::RankExit>(&report);
  if (exit == nullptr || !passed) return report;
  exit->deadline = passed->outcome;
  exit->deadline_message = passed->message;
  return report;
}

void HeldRank::Sample(const Usage& usage) {
  if (!running()) return;
  if (!sampler_) {
    if (const std::optional<shim::PidRecord> rank = ReadPidRecord(folder_))
      sampler_.emplace(rank->pid, clock_);
  }
  last_sample_ = sampler_ ? sampler_->Sample() : std::nullopt;
  if (!last_sample_) return;
  seen_running_ = true;
  keeper_.Offer(SampleLine(usage, last_sample_));
}

std::string HeldRank::SampleLine(const Usage& usage, const std::optional<RankSample>& rank) const {
  job::RankMetrics metrics;
  const auto add = [&](job::Metric metric, auto value) {
    metrics.points.push_back({.name = std::string(job::Name(metric)),
                              .step = relay_.step(),
                              .rank = key_.rank,
                              .value = static_cast<double>(value),
                              .time = clock_.Wall()});
  };
  using enum job::Metric;
  if (usage.gpu) {
    const job::DeviceSample& gpu = *usage.gpu;
    if (gpu.utilization_percent) add(kGpuUtilization, *gpu.utilization_percent);
    if (rank) add(kGpuMemoryUsed, gpu.memory_used_bytes);
    if (gpu.power_watts) add(kGpuPower, *gpu.power_watts);
    if (gpu.temperature_celsius) add(kGpuTemperature, *gpu.temperature_celsius);
    if (gpu.energy_joules && energy_at_start_joules_)
      add(kGpuEnergy, *gpu.energy_joules - *energy_at_start_joules_);
  }
  add(kHostCpu, usage.host.cpu_percent);
  add(kHostMemoryUsed, usage.host.memory_used_bytes);
  if (rank) {
    if (rank->cpu_percent) add(kRankCpu, *rank->cpu_percent);
    add(kRankMemoryUsed, rank->memory_used_bytes);
  }
  return job::ToLine(job::RankMessage(std::move(metrics)));
}

void HeldRank::Resume(int64_t stored_sequence, int64_t stored_log_bytes) {
  relay_.Resume(stored_sequence, stored_log_bytes);
}

void HeldRank::Acknowledge(int64_t sequence) {
  relay_.Acknowledge(sequence);
  keeper_.Offer(nlohmann::json{{"type", "stored"}, {"sequence", sequence}}.dump());
}

void HeldRank::AcknowledgeLog(int64_t offset, bool again) {
  relay_.AcknowledgeLog(offset, again);
  CheckRemovable();
}

std::optional<v1::WorkerMessage> HeldRank::Next() { return relay_.Next(clock_.Wall()); }

}  // namespace trainctl::agent
