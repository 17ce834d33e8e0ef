// What workers tell the coordinator.
#include <algorithm>
#include <utility>

#include "common/job/job_json.h"
#include "server/coordinator/coordinator.h"
#include "server/coordinator/earlier_runs.h"
#include "server/coordinator/resumed_job.h"

namespace trainctl::coordinator {
namespace {

base::Error NameIsTaken(const std::string& name, const core::State& state) {
  const auto known = state.workers.find(name);
  const std::string where =
      known == state.workers.end() ? "" : " from host " + known->second.row.host;
  return {base::Code::kConflict, "another trainworker is connected as '" + name + "'" + where +
                                     ": give this one a name of its own (--name), or end that one"};
}

}  // namespace

void Coordinator::WorkerJoined(WorkerChannel& channel, core::WorkerHello hello) {
  const std::string worker = hello.worker.name;
  const auto refuse = [&](const base::Error& error) {
    parts_.log.Warning("worker_refused", {{"worker", worker}, {"error", error.message}});
    channel.End(error);
  };
  if (newest_streams_.IsOld(hello)) {
    return refuse({base::Code::kUnavailable,
                   "worker '" + worker + "' has begun a later stream than this one"});
  }
  WorkerSessions::Session* session =
      workers_.Join(worker, hello.incarnation, channel, parts_.clock.Steady());
  if (session == nullptr) return refuse(NameIsTaken(worker, state_));
  newest_streams_.Note(hello);
  for (const core::HeldRank& held : hello.held) session->held.push_back(held.key);
  parts_.log.Info("worker_joined", {{"worker", worker},
                                    {"device", hello.worker.device.name},
                                    {"held_ranks", std::to_string(hello.held.size())}});
  Apply(std::move(hello));
}

void Coordinator::Perform(core::RefuseWorker& refused) {
  parts_.log.Warning("worker_refused",
                     {{"worker", refused.worker}, {"error", refused.error.message}});
  workers_.End(refused.worker, refused.error);
}

// Of the live attempt, or of one that ended before its log had arrived. kIo.
base::Result<bool> Coordinator::IsPlacedOn(const std::string& worker, const job::RankKey& key) {
  const auto is_it = [&](const core::RankRow& row) {
    return row.key == key && row.worker == worker;
  };
  const core::Job* job = core::FindJob(state_, key.job);
  if (job != nullptr && job->attempt && job->attempt->row.attempt == key.attempt) {
    return std::ranges::any_of(job->attempt->ranks, is_it, &core::Rank::row);
  }
  const auto attempts = parts_.reader.Attempts(key.job);
  if (!attempts) return attempts.error();
  return std::ranges::any_of(
      *attempts, [&](const auto& attempt) { return std::ranges::any_of(attempt.ranks, is_it); });
}

base::Result<WorkerSessions::Session::Logs> Coordinator::LogsOf(const std::string& worker,
                                                                const job::RankKey& key) {
  using enum WorkerSessions::Session::Logs;
  const base::Result<bool> placed = IsPlacedOn(worker, key);
  if (!placed) return placed.error();
  if (core::FindJob(state_, key.job) != nullptr) return *placed ? kKept : kForeign;
  const auto jobs = parts_.reader.Jobs({.jobs = {key.job}, .limit = 1});
  if (!jobs) return jobs.error();
  if (jobs->empty()) return kUnknown;
  if (!*placed) return kForeign;
  return jobs->front().logs_removed_at > 0 ? kRemoved : kKept;
}

void Coordinator::WorkerReported(const WorkerChannel& channel, core::RankReported report) {
  if (workers_.Hear(report.worker, channel, parts_.clock.Steady()) != nullptr)
    Apply(std::move(report));
}

void Coordinator::WorkerLogged(const WorkerChannel& channel, const std::string& worker,
                               const LogPiece& piece) {
  const job::RankKey& key = piece.key;
  WorkerSessions::Session* session = workers_.Hear(worker, channel, parts_.clock.Steady());
  if (session == nullptr) return;
  using Logs = WorkerSessions::Session::Logs;
  auto known = session->logs.find(key);
  if (known == session->logs.end()) {
    const base::Result<Logs> logs = LogsOf(worker, key);
    if (!logs) return StallLog(*session, key, logs.error());
    known = session->logs.emplace(key, *logs).first;
    const std::initializer_list<EventLog::Field> rank = {{"rank", job::ToString(key)},
                                                         {"worker", worker}};
    if (*logs == Logs::kForeign) parts_.log.Warning("log_of_a_foreign_rank", rank);
    if (*logs == Logs::kUnknown) parts_.log.Warning("log_of_an_unknown_job_is_let_go", rank);
  }
  if (known->second == Logs::kRemoved || known->second == Logs::kUnknown)
    session->log_acks[key] = piece.offset + static_cast<int64_t>(piece.data.size());
  if (known->second != Logs::kKept) return;
  const auto stored = parts_.logs.Append(key, piece.offset, piece.data, piece.after);
  if (!stored) return StallLog(*session, key, stored.error());
  session->log_acks[key] = *stored;
  log_changes_.Mark(key.job);
}

void Coordinator::StallLog(WorkerSessions::Session& session, const job::RankKey& key,
                           const base::Error& error) {
  if (!session.stalled_logs.insert(key).second) return;
  parts_.log.Warning("log_not_stored", {{"rank", job::ToString(key)}, {"error", error.message}});
}

// The worker goes on behind what is stored, once a second for as long as it must.
void Coordinator::AskForStalledLogs() {
  workers_.TellStalledLogs([this](WorkerChannel& channel, const job::RankKey& key) {
    const base::Result<int64_t> stored = parts_.logs.End(key);
    if (stored) channel.Send(LogStored{key, *stored, true});
    return stored.ok();
  });
}

void Coordinator::WorkerSampled(const WorkerChannel& channel, const std::string& worker,
                                const job::DeviceSample& device, const job::HostSample& host) {
  const base::SteadyMicros now = parts_.clock.Steady();
  WorkerSessions::Session* session = workers_.Hear(worker, channel, now);
  if (session == nullptr) return;
  loads_.Add(worker, device, host, now);
  session->device = device;
  session->host = host;
  NoteTrouble(worker, host.trouble);
}

// Each heartbeat says it: what has not changed is no event.
void Coordinator::NoteTrouble(const std::string& worker, const std::string& trouble) {
  const auto known = state_.workers.find(worker);
  if (known == state_.workers.end() || known->second.trouble == trouble) return;
  if (trouble.empty())
    parts_.log.Info("host_trouble_over", {{"worker", worker}});
  else
    parts_.log.Warning("host_trouble", {{"worker", worker}, {"trouble", trouble}});
  Apply(core::HostTroubled{worker, trouble});
}

void Coordinator::WorkerDeviceChanged(const WorkerChannel& channel,
                                      core::DeviceStateChanged change) {
  if (workers_.Hear(change.worker, channel, parts_.clock.Steady()) != nullptr)
    Apply(std::move(change));
}

void Coordinator::WorkerToldFaults(const WorkerChannel& channel, core::DeviceFaultsTold told) {
  if (workers_.Hear(told.worker, channel, parts_.clock.Steady()) != nullptr) Apply(std::move(told));
}

void Coordinator::Perform(core::FaultIsNews& news) {
  const core::FaultRow& row = news.fault;
  parts_.log.Warning("device_fault", {{"worker", row.worker},
                                      {"xid", std::to_string(row.fault.xid)},
                                      {"class", std::string(Name(job::ClassOf(row.fault.xid)))}});
}

void Coordinator::WorkerInspected(const WorkerChannel& channel, const std::string& worker,
                                  const std::string& request_id,
                                  base::Result<job::Inspection> inspection) {
  const base::SteadyMicros now = parts_.clock.Steady();
  if (workers_.Hear(worker, channel, now) == nullptr) return;
  inspections_.OnResult(worker, request_id, std::move(inspection), now);
}

bool Coordinator::IsIdle(const std::string& worker) const {
  const auto found = state_.workers.find(worker);
  return found != state_.workers.end() && state_.free.entry(found->second.device).free;
}

void Coordinator::Perform(core::InspectJob& ask) {
  const auto answer = [this, ask](base::Result<job::Inspection> inspection) {
    LearnOf(ask.spec, {ask.job, ask.worker, std::move(inspection)});
  };
  job::JobSpec asked = ask.spec;
  asked.resources.priority = job::PriorityOf(asked);  // older workers want a number
  inspections_.Ask({ask.user, ask.worker, job::ToJson(asked)}, parts_.clock.Steady(), answer);
}

// A store that can't say has no earlier runs to tell of. Submit has told a job that has just ended.
void Coordinator::LearnOf(const job::JobSpec& spec, core::JobInspected told) {
  if (!told.inspection) return Apply(std::move(told));
  if (auto resumed = FindResumedRun(parts_.reader, spec)) told.resumed = std::move(*resumed);
  const RunKeys keys = KeysOf(spec, *told.inspection);
  parts_.reads.Ask<RunsFound>(
      [keys](store::Reader& reader) { return FindEarlierRuns(reader, {keys}); },
      [this, told = std::move(told)](base::Result<RunsFound> found) mutable {
        if (found) told.earlier = {std::move(found->jobs.front()), std::move(found->powers)};
        Apply(std::move(told));
      });
}

void Coordinator::WorkerReadArtifact(const WorkerChannel& channel, const std::string& worker,
                                     const std::string& request_id, job::ArtifactPiece piece,
                                     const std::string& error) {
  if (workers_.Hear(worker, channel, parts_.clock.Steady()) == nullptr) return;
  artifact_reads_.OnResult(worker, request_id, std::move(piece), error);
}

void Coordinator::WorkerRemovedOutputs(const WorkerChannel& channel, const std::string& worker,
                                       const std::string& request_id, job::RemovalAnswer removal,
                                       const std::string& error) {
  if (workers_.Hear(worker, channel, parts_.clock.Steady()) == nullptr) return;
  output_removals_.OnResult(worker, request_id, std::move(removal), error);
}

void Coordinator::WorkerLeft(const WorkerChannel& channel, const std::string& worker) {
  if (!workers_.Leave(worker, channel)) return;
  parts_.log.Warning("worker_left", {{"worker", worker}});
  inspections_.OnWorkerLeft(worker, parts_.clock.Steady());
  artifact_reads_.OnWorkerLeft(worker);
  output_removals_.OnWorkerLeft(worker);
  Apply(core::WorkerStreamLost{worker, 0});
}

}  // namespace trainctl::coordinator
