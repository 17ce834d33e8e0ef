#include "tests/server/describe.h"

#include <sstream>

#include "common/estimate/prediction.h"
#include "common/job/batch.h"
#include "server/core/leases.h"

namespace trainctl::core {
namespace {

struct Printer {
  std::ostringstream& out;

  void operator()(const SubmissionRow&) {}
  void operator()(const GroupRow& row) {
    out << "group " << base::ToString(row.id) << " " << row.name << "\n";
  }
  void operator()(const JobRow&) {}
  void operator()(const UpdateJob& row) {
    out << base::ToString(row.job) << " " << job::Name(row.status.state);
    if (row.status.end)
      out << " " << job::Name(row.status.end->outcome) << ": " << row.status.end->message;
    if (row.status.as_expected)
      out << (*row.status.as_expected ? " (as expected)" : " (not as expected)");
    out << "\n";
  }
  void operator()(const UpdateInspection& row) {
    out << base::ToString(row.job) << " stores its inspection and a prediction of "
        << row.prediction.memory.peak_allocated << " bytes\n";
  }
  void operator()(const UpdateSpec& row) {
    out << base::ToString(row.job) << " micro batch " << *row.spec.train.micro_batch_size
        << " × accumulation " << job::PlanBatch(row.spec)->accumulation << "\n";
  }
  void operator()(const RemoveJob& row) { out << base::ToString(row.job) << " is forgotten\n"; }
  void operator()(const AttemptRow&) {}
  void operator()(const RankRow&) {}
  void operator()(const WorkerRow&) {}
  void operator()(const RemoveWorker& row) { out << row.worker << " is removed\n"; }
  void operator()(const DrainRow& row) {
    out << row.target << " is drained" << DrainText(row) << "\n";
  }
  void operator()(const RemoveDrain& row) { out << row.target << " is not drained any more\n"; }
  void operator()(const FaultRow& row) {
    out << row.worker << " has XID " << row.fault.xid << (row.cleared ? ", cleared" : "") << "\n";
  }
  void operator()(const RemoveFault& row) {
    out << row.worker << " has XID " << row.xid << " no more\n";
  }
  void operator()(const SlowRow& row) {
    out << row.worker << " is slow: " << row.ratio << " as " << Short(row.key) << "\n";
  }
  void operator()(const RemoveSlow& row) { out << row.worker << " is slow no more\n"; }
  void operator()(const LeaseRow& row) {
    out << LeaseText(row) << " has";
    for (const std::string& worker : row.workers) out << " " << worker;
    out << (row.over_at == 0 ? ", " + UtcText(row.start) + " to " + UtcText(row.end)
                             : ": it is over")
        << "\n";
  }
  void operator()(const EventRow& row) {
    out << base::ToString(row.job) << " says: " << row.text << "\n";
  }
  void operator()(const MetricRows& rows) {
    out << Short(rows.key) << " stores " << rows.points.size() << " points\n";
  }
  void operator()(const RewindRow& row) {
    out << base::ToString(row.job) << "/" << row.attempt << " trains anew from step " << row.step
        << "\n";
  }
  void operator()(const AckRow&) {}
  void operator()(const ArtefactRow& row) {
    out << Short(row.key) << " stores " << row.saved.path << "\n";
  }

  void operator()(const ContinuationRow& row) {
    out << base::ToString(row.job) << " continues '" << row.said.prompt << "' at step "
        << row.said.step << ": " << row.said.text << "\n";
  }

  void operator()(const StartRank& effect) {
    out << effect.worker << " <- start " << Short(effect.key);
    if (effect.plan.trial)
      out << " with a trial of micro batch " << *effect.plan.job.train.micro_batch_size;
    if (effect.plan.job.exclusive)
      out << " as " << effect.plan.host_place + 1 << " of " << effect.plan.host_devices.size()
          << " on the host, threads " << effect.plan.threads;
    if (effect.deadline) Tell(*effect.deadline);
    out << "\n";
  }
  // That there is none is told of each rank that was held.
  void operator()(const KeepDeadline& effect) {
    out << effect.worker << " <- keep " << Short(effect.key);
    effect.deadline ? Tell(*effect.deadline) : void(out << " without a deadline");
    out << "\n";
  }
  void Tell(const job::Deadline& deadline) {
    out << " for " << deadline.in_us / 1'000'000 << " s and " << deadline.grace_us / 1'000'000
        << " s grace: " << job::Name(deadline.outcome) << ": " << deadline.message;
  }
  void operator()(const SendPeers& effect) {
    out << effect.worker << " <- peers " << Short(effect.key) << " " << effect.blob << "\n";
  }
  void operator()(const StopRank& effect) {
    out << effect.worker << " <- stop " << Short(effect.key) << " grace "
        << effect.grace_us / 1'000'000 << " s\n";
  }
  void operator()(const InspectJob& effect) {
    out << effect.worker << " <- inspect " << base::ToString(effect.job) << "\n";
  }
  void operator()(const ReleaseRank& effect) {
    out << effect.worker << " <- release " << Short(effect.key) << "\n";
  }
  void operator()(const AckReport& effect) {
    out << effect.worker << " <- ack " << Short(effect.key) << " " << effect.sequence << "\n";
  }
  void operator()(const Welcome& effect) {
    out << effect.worker << " <- welcome";
    for (const AckRow& ack : effect.acks) out << " " << Short(ack.key) << " " << ack.sequence;
    out << "\n";
  }
  void operator()(const RefuseWorker& effect) {
    out << effect.worker << " <- refused: " << effect.error.message << "\n";
  }
  void operator()(const JobChanged&) {}
  void operator()(const FaultIsNews& effect) {
    out << "news: XID " << effect.fault.fault.xid << " on " << effect.fault.worker << "\n";
  }
  void operator()(const SubmitAccepted& effect) {
    out << "accepted " << effect.request_id << ":";
    for (const base::JobId job : effect.jobs) out << " " << base::ToString(job);
    out << "\n";
  }
  void operator()(const SubmitRefused& effect) {
    out << "refused " << effect.request_id << ": " << effect.error.message << "\n";
  }
};

void PrintEnd(const std::optional<job::AttemptEnd>& end, std::ostringstream& out) {
  if (!end) return;
  out << " end=" << job::Name(end->outcome) << "|" << end->message << "|" << end->rank.value_or(-1)
      << "|" << end->exit_code.value_or(-1) << "|" << end->signal.value_or(-1) << "|"
      << end->last_log_lines;
  if (end->oom)
    out << "|oom " << end->oom->rank << " " << job::Name(end->oom->phase) << " "
        << end->oom->requested_bytes;
}

void Print(const RankRow& rank, std::ostringstream& out) {
  out << "  " << Short(rank.key) << " " << rank.worker << " " << rank.host << " "
      << rank.device_uuid << " " << rank.device_name << (rank.confirmed ? " confirmed" : "")
      << " pid " << rank.started.pid << " " << rank.started.commit << rank.started.libtorch
      << rank.started.nccl << rank.started.driver << rank.started.device_name << " "
      << job::Name(rank.phase.phase) << " " << rank.phase.done << "/" << rank.phase.total << " "
      << rank.progress.step << " behind " << rank.progress.first_step << "/" << rank.progress.steps
      << " " << job::Name(rank.progress.stage) << " " << rank.progress.loss.value_or(-1) << " "
      << rank.progress.peak_allocated_bytes << " proof " << static_cast<int>(rank.proof) << " exit "
      << rank.exit.exit_code.value_or(-1) << " " << rank.exit.signal.value_or(-1)
      << (rank.exit.oom_killed ? " oom_killed" : "") << " " << rank.exit.last_log_lines << " "
      << rank.failure << (rank.ended_by_stop ? " ended_by_stop" : "") << " " << rank.ended_at
      << " holds " << rank.held_devices;
  if (rank.outcome)
    out << " outcome " << job::Name(rank.outcome->outcome) << " " << rank.outcome->message;
  out << "\n";
}

void Print(const UnfinishedJob& job, std::ostringstream& out) {
  const JobStatus& status = job.status;
  out << base::ToString(job.row.id) << " " << job.row.spec.name << " "
      << base::ToString(job.row.group) << " " << job.row.request_id << " "
      << (job.row.inspection ? job::ToJson(*job.row.inspection) : "")
      << (job.row.prediction ? job::ToJson(*job.row.prediction) : "") << " " << job.row.user
      << (job.row.force ? " forced" : "") << " " << job.row.submitted_at << " "
      << job::Name(status.state) << " " << status.attempt << " " << status.restarts
      << (status.cancel_requested ? " cancel" : "") << " " << status.started_at << " "
      << status.ended_at << " " << status.progress.step << "/" << status.progress.steps << " "
      << status.progress.loss.value_or(-1) << " " << status.progress.peak_allocated_bytes
      << " micro " << job.row.spec.train.micro_batch_size.value_or(0) << " of "
      << job.row.auto_micro_batch << " proven by " << status.proven_by;
  PrintEnd(status.end, out);
  out << "\n";
  if (job.attempt) {
    const AttemptRow& attempt = *job.attempt;
    out << " attempt " << attempt.attempt << " " << attempt.placed_at << " " << attempt.ended_at
        << " " << attempt.blob << " micro " << attempt.micro_batch_size << " trial "
        << Name(attempt.trial) << " steady " << attempt.placed_steady << " " << attempt.placed_boot;
    if (const std::optional<Stop>& stop = job.attempt->stop) {
      out << " stop=" << job::Name(stop->outcome) << "|" << stop->message << "|"
          << stop->rank.value_or(-1) << "|" << stop->grace_us << "|" << stop->at;
    }
    PrintEnd(job.attempt->end, out);
    out << "\n";
  }
  for (const RankRow& rank : job.ranks) Print(rank, out);
  for (const EndedAttempt& ended : job.ended) {
    out << " before: attempt " << ended.row.attempt << " " << ended.row.ended_at;
    PrintEnd(ended.row.end, out);
    out << "\n";
    for (const RankRow& rank : ended.ranks) Print(rank, out);
  }
}

}  // namespace

std::string Short(const job::RankKey& key) {
  return base::ToString(key.job) + "/" + std::to_string(key.attempt) + "/" +
         std::to_string(key.rank);
}

std::string Describe(const Actions& actions) {
  std::ostringstream out;
  for (const Persist& row : actions.persist) std::visit(Printer{out}, row);
  for (const Effect& effect : actions.effects) std::visit(Printer{out}, effect);
  return out.str();
}

std::string Describe(const State& state, const Now& now) {
  std::ostringstream out;
  for (const auto& [id, job] : state.jobs) {
    out << base::ToString(id) << " " << job::Name(job.status.state) << " " << Progress(job).step
        << "/" << Progress(job).steps;
    const std::string reason = Reason(state, job, now);
    out << (reason.empty() ? "" : ": ") << reason;
    if (const auto start = PredictedStart(state, job, now))
      out << " [starts in " << (*start - now.steady) / 1'000'000 << " s]";
    out << "\n";
  }
  for (const auto& [name, worker] : state.workers) {
    const std::string reason = WorkerReason(state, worker);
    out << name << " " << Name(StateOf(state, worker))
        << (worker.holder ? " " + Short(*worker.holder) : "") << (reason.empty() ? "" : ": ")
        << reason << "\n";
  }
  for (const auto& [id, lease] : state.leases) {
    for (const std::string& name : lease.row.workers) {
      const std::string trouble = LeasedDeviceTrouble(state, name);
      if (!trouble.empty())
        out << LeaseText(lease.row) << ": " << name << " is " << trouble << "\n";
    }
  }
  return out.str();
}

std::string Describe(const Wait& wait, const Now& now) {
  std::ostringstream out;
  out << wait.free << " free";
  if (wait.behind != nullptr) out << ", behind " << base::ToString(wait.behind->row.id);
  if (wait.minutes_that_pass > 0) out << ", " << wait.minutes_that_pass << " min pass";
  if (wait.why_not_known)
    out << ", start not known"
        << (wait.why_not_known->empty() ? "" : " (" + *wait.why_not_known + ")");
  out << "\n";
  for (const Hindrance& hindrance : wait.hindrances) {
    out << "  " << hindrance.worker->row.name << " " << Name(hindrance.state);
    if (hindrance.holder != nullptr) out << " " << base::ToString(hindrance.holder->row.id);
    if (hindrance.since != 0) out << " for " << (now.wall - hindrance.since) / 1'000'000 << " s";
    if (hindrance.until) out << ", free in " << (*hindrance.until - now.steady) / 1'000'000 << " s";
    out << (hindrance.reason.empty() ? "" : ": ") << hindrance.reason << "\n";
  }
  return out.str();
}

std::string Describe(const StoredState& stored) {
  std::ostringstream out;
  out << "next " << stored.next_job << " " << stored.next_group << " " << stored.next_lease << "\n";
  for (const UnfinishedJob& job : stored.jobs) Print(job, out);
  for (const WorkerRow& worker : stored.workers) {
    out << worker.name << " " << worker.host << " " << worker.boot_id << " " << worker.version
        << " " << worker.address << " " << static_cast<int>(worker.device.kind) << " "
        << worker.device.index << " " << worker.device.uuid << " " << worker.device.name << " "
        << worker.device.memory_bytes << " " << worker.device.compute_capability << " "
        << worker.device.driver << " " << worker.device.threads << " " << worker.last_seen << " "
        << worker.identity << " " << job::LabelsText(worker.device.labels) << " "
        << job::LinksText(worker.device.links) << "\n";
  }
  for (const GroupRow& group : stored.groups)
    out << base::ToString(group.id) << " " << group.name << " at most " << group.max_parallel
        << "\n";
  for (const DrainRow& drain : stored.drains)
    out << "drained " << drain.target << "|" << drain.user << "|" << drain.reason << "|" << drain.at
        << "\n";
  for (const FaultRow& fault : stored.faults)
    out << "fault " << fault.worker << "|" << fault.device_uuid << "|" << fault.fault.xid << "|"
        << fault.fault.at << "|" << fault.cleared << "\n";
  for (const SlowRow& slow : stored.slow)
    out << "slow " << slow.worker << "|" << slow.device_uuid << "|" << Short(slow.key) << "|"
        << slow.ratio << "|" << slow.at << "\n";
  for (const LeaseRow& lease : stored.leases) {
    out << "lease " << lease.id << "|" << lease.name << "|" << lease.user << "|" << lease.request_id
        << "|" << lease.start << "|" << lease.end << "|" << lease.created_at;
    for (const std::string& worker : lease.workers) out << "|" << worker;
    out << "\n";
  }
  for (const auto& [key, sequence] : stored.acks)
    out << "ack " << Short(key) << " " << sequence << "\n";
  return out.str();
}

}  // namespace trainctl::core
