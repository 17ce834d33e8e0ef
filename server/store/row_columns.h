// The columns of each kind of row: their names for SQL, and one function that visits them in that
// order, for writing and reading alike. Internal to this room.
#pragma once

#include "server/core/rows.h"
#include "server/store/columns.h"

namespace trainctl::store {

// job_status, without its key `job`.
inline constexpr const char* kStatusColumns =
    "state, attempt, restarts, cancel_requested, outcome, message, end_rank, exit_code, signal, "
    "oom, last_log_lines, as_expected, "
    "started_at, ended_at, step, steps, loss, peak_allocated_bytes, proven_by";
template <class Row, class Visit>
void VisitStatus(Row& row, Visit&& visit) {
  visit(row.state, row.attempt, row.restarts, row.cancel_requested, row.end, row.as_expected,
        row.started_at, row.ended_at, row.progress.step, row.progress.steps, row.progress.loss,
        row.progress.peak_allocated_bytes, row.proven_by);
}

inline constexpr const char* kAttemptColumns =
    "job, attempt, placed_at, ended_at, blob, stop_outcome, stop_message, stop_rank, "
    "stop_grace_us, stop_at, outcome, message, end_rank, "
    "exit_code, signal, oom, last_log_lines, micro_batch_size, trial, placed_steady, placed_boot";
template <class Row, class Visit>
void VisitAttempt(Row& row, Visit&& visit) {
  visit(row.job, row.attempt, row.placed_at, row.ended_at, row.blob, row.stop, row.end,
        row.micro_batch_size, row.trial, row.placed_steady, row.placed_boot);
}

inline constexpr const char* kRankColumns =
    "job, attempt, rank, worker, host, device_uuid, device_name, confirmed, pid, source_commit, "
    "libtorch, nccl, driver, "
    "started_device_name, phase, done_bytes, total_bytes, step, first_step, steps, stage, loss, "
    "peak_allocated_bytes, outcome, "
    "message, oom, proof, exit_code, signal, oom_killed, last_log_lines, failure, ended_by_stop, "
    "ended_at, held_devices";
template <class Row, class Visit>
void VisitRank(Row& row, Visit&& visit) {
  visit(row.key.job, row.key.attempt, row.key.rank, row.worker, row.host, row.device_uuid,
        row.device_name, row.confirmed);
  visit(row.started.pid, row.started.commit, row.started.libtorch, row.started.nccl,
        row.started.driver, row.started.device_name);
  visit(row.phase.phase, row.phase.done, row.phase.total);
  visit(row.progress.step, row.progress.first_step, row.progress.steps, row.progress.stage,
        row.progress.loss, row.progress.peak_allocated_bytes);
  visit(row.outcome, row.proof, row.exit.exit_code, row.exit.signal, row.exit.oom_killed,
        row.exit.last_log_lines);
  visit(row.failure, row.ended_by_stop, row.ended_at, row.held_devices);
}

inline constexpr const char* kWorkerColumns =
    "name, host, boot_id, version, address, device_kind, device_index, device_uuid, device_name, "
    "memory_bytes, compute_capability, driver, "
    "threads, last_seen, identity, labels, host_memory_bytes, links";
template <class Row, class Visit>
void VisitWorker(Row& row, Visit&& visit) {
  visit(row.name, row.host, row.boot_id, row.version, row.address);
  visit(row.device.kind, row.device.index, row.device.uuid, row.device.name,
        row.device.memory_bytes, row.device.compute_capability, row.device.driver,
        row.device.threads);
  visit(row.last_seen, row.identity, row.device.labels, row.device.host_memory_bytes,
        row.device.links);
}

inline constexpr const char* kDrainColumns = "target, user, reason, at";
template <class Row, class Visit>
void VisitDrain(Row& row, Visit&& visit) {
  visit(row.target, row.user, row.reason, row.at);
}

inline constexpr const char* kFaultColumns = "worker, device_uuid, xid, at, cleared";
template <class Row, class Visit>
void VisitFault(Row& row, Visit&& visit) {
  visit(row.worker, row.device_uuid, row.fault.xid, row.fault.at, row.cleared);
}

inline constexpr const char* kSlowColumns = "worker, device_uuid, job, attempt, rank, ratio, at";
template <class Row, class Visit>
void VisitSlow(Row& row, Visit&& visit) {
  visit(row.worker, row.device_uuid, row.key.job, row.key.attempt, row.key.rank, row.ratio, row.at);
}

// leases, without their devices.
inline constexpr const char* kLeaseColumns =
    "id, name, user, request_id, start_at, end_at, created_at, over_at";
template <class Row, class Visit>
void VisitLease(Row& row, Visit&& visit) {
  visit(row.id, row.name, row.user, row.request_id, row.start, row.end, row.created_at,
        row.over_at);
}

// jobs. The spec is its canonical JSON: reading it is the only thing here that takes time.
inline constexpr const char* kJobColumns =
    "id, group_id, request_id, name, spec, inspection, prediction, submitted_at, forced, "
    "auto_micro_batch, user";
// A job as it is stored, its JSON still to be read.
struct JobText {
  core::JobRow row;
  std::string spec, inspection, prediction;
};
JobText ReadJobText(Database& database, Statement& statement);
// A spec that the present schema refuses makes the job unreadable, and is no error. Thread-safe.
core::JobRow ReadJob(JobText text);
core::JobRow ReadJob(Database& database, Statement& statement);

// Of one job: host, job, and whether both were on CPU slots, of those on its hosts at its time.
inline constexpr const char* kNeighboursSql =
    "SELECT own.host, other.job, "
    "MAX(own.device_uuid LIKE 'cpu:%' AND other.device_uuid LIKE 'cpu:%') "
    "FROM ranks AS own JOIN attempts AS mine USING (job, attempt) "
    "JOIN ranks AS other ON other.host = own.host AND other.job != own.job "
    "JOIN attempts AS theirs ON theirs.job = other.job AND theirs.attempt = other.attempt "
    "WHERE own.job = ? AND (mine.ended_at = 0 OR theirs.placed_at < mine.ended_at) "
    "AND (theirs.ended_at = 0 OR mine.placed_at < theirs.ended_at) "
    "GROUP BY own.host, other.job ORDER BY own.host, other.job";

// By path, and the rank whose host it is on.
inline constexpr const char* kForgetArtefactSql =
    "DELETE FROM artefacts WHERE path = ? AND "
    "(SELECT host FROM ranks WHERE ranks.job = artefacts.job "
    "AND ranks.attempt = artefacts.attempt AND ranks.rank = artefacts.rank) = "
    "(SELECT host FROM ranks WHERE job = ? AND attempt = ? AND rank = ?)";

// "?, ?, …", as many as there are names in the list.
std::string Placeholders(const char* columns);

}  // namespace trainctl::store
