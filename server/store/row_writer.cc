#include "server/store/row_writer.h"

#include "common/estimate/memory_estimate.h"
#include "common/job/job.h"
#include "common/job/job_json.h"
#include "server/store/row_columns.h"

namespace trainctl::store {
namespace {

std::string Replace(const std::string& table, const std::string& columns) {
  return "INSERT OR REPLACE INTO " + table + " (" + columns + ") VALUES (" +
         Placeholders(columns.c_str()) + ")";
}

// What a worker or an estimate said of a job; empty: nothing.
template <class T>
std::string Annex(const std::optional<T>& value) {
  return value ? job::ToJson(*value) : std::string();
}

}  // namespace

RowWriter::RowWriter(Database& database)
    : database_(database),
      metrics_(database),
      status_(database, Replace("job_status", "job, " + std::string(kStatusColumns))),
      attempt_(database, Replace("attempts", kAttemptColumns)),
      rank_(database, Replace("ranks", kRankColumns)),
      worker_(database, Replace("workers", kWorkerColumns)) {}

void RowWriter::Write(const Batch& batch) {
  for (const core::Persist& row : batch.rows) {
    std::visit([this](const auto& value) { Write(value); }, row);
  }
  for (const AuditRow& row : batch.audit) Write(row);
  for (const LogsRemovedRow& row : batch.logs_removed) Write(row);
  metrics_.WriteSummaries();
}

void RowWriter::Write(const core::SubmissionRow& row) {
  Statement& statement =
      database_.Prepared("INSERT INTO submissions (request_id, group_id, at) VALUES (?, ?, ?)");
  ColumnWriter{statement}(row.request_id, row.group, row.at);
  statement.Run();
}

void RowWriter::Write(const core::GroupRow& row) {
  Statement& statement = database_.Prepared(
      "INSERT INTO groups (id, name, submitted_at, max_parallel) VALUES (?, ?, ?, ?)");
  ColumnWriter{statement}(row.id, row.name, row.submitted_at, row.max_parallel);
  statement.Run();
}

void RowWriter::Write(const core::JobRow& row) {
  Statement& statement = database_.Prepared(
      "INSERT INTO jobs (id, group_id, request_id, name, spec, inspection, prediction, "
      "submitted_at, forced, auto_micro_batch, user) "
      "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  ColumnWriter{statement}(row.id, row.group, row.request_id, row.spec.name, job::ToJson(row.spec),
                          Annex(row.inspection), Annex(row.prediction), row.submitted_at, row.force,
                          row.auto_micro_batch, row.user);
  statement.Run();
}

void RowWriter::Write(const core::UpdateSpec& row) {
  Statement& statement =
      database_.Prepared("UPDATE jobs SET spec = ?, prediction = ? WHERE id = ?");
  ColumnWriter{statement}(job::ToJson(row.spec), Annex(row.prediction), row.job);
  statement.Run();
}

void RowWriter::Write(const core::UpdateJob& row) {
  ColumnWriter writer(status_);
  writer(row.job);
  VisitStatus(row.status, writer);
  status_.Run();
}

void RowWriter::Write(const core::UpdateInspection& row) {
  Statement& statement =
      database_.Prepared("UPDATE jobs SET inspection = ?, prediction = ? WHERE id = ?");
  ColumnWriter{statement}(job::ToJson(row.inspection), job::ToJson(row.prediction), row.job);
  statement.Run();
}

// The submission stays: the same request again makes no second job.
void RowWriter::Write(const core::RemoveJob& row) {
  static constexpr const char* kDeletions[] = {
      "INSERT INTO removed_use (user, devices, placed_at, ended_at) SELECT user, (SELECT "
      "COALESCE(SUM(held_devices), 0) FROM ranks WHERE ranks.job = attempts.job AND "
      "ranks.attempt = attempts.attempt), placed_at, ended_at FROM attempts JOIN jobs ON id = job "
      "WHERE job = ? AND ended_at > 0",
      "DELETE FROM points WHERE series IN (SELECT id FROM series WHERE job = ?)",
      "DELETE FROM series WHERE job = ?",
      "DELETE FROM thinned WHERE job = ?",
      "DELETE FROM logs_removed WHERE job = ?",
      "DELETE FROM artefacts WHERE job = ?",
      "DELETE FROM continuations WHERE job = ?",
      "DELETE FROM events WHERE job = ?",
      "DELETE FROM acks WHERE job = ?",
      "DELETE FROM ranks WHERE job = ?",
      "DELETE FROM attempts WHERE job = ?",
      "DELETE FROM job_status WHERE job = ?",
      "DELETE FROM groups WHERE id = (SELECT group_id FROM jobs WHERE jobs.id = ?1) AND NOT EXISTS "
      "(SELECT 1 FROM jobs WHERE group_id = groups.id AND group_id != 0 AND jobs.id != ?1)",
      "DELETE FROM jobs WHERE id = ?"};
  for (const char* deletion : kDeletions) {
    Statement& statement = database_.Prepared(deletion);
    ColumnWriter{statement}(row.job);
    statement.Run();
  }
}

// The job may have been forgotten meanwhile.
void RowWriter::Write(const LogsRemovedRow& row) {
  Statement& mark = database_.Prepared(
      "INSERT OR IGNORE INTO logs_removed (job, at) SELECT id, ?2 FROM jobs WHERE id = ?1");
  ColumnWriter{mark}(row.job, row.at);
  mark.Run();
  if (!row.any) return;
  Statement& event = database_.Prepared(
      "INSERT INTO events (job, at, text) SELECT id, ?2, 'its logs were removed by this site''s "
      "policy' FROM jobs WHERE id = ?1");
  ColumnWriter{event}(row.job, row.at);
  event.Run();
}

void RowWriter::Write(const core::AttemptRow& row) {
  VisitAttempt(row, ColumnWriter(attempt_));
  attempt_.Run();
}

void RowWriter::Write(const core::RankRow& row) {
  VisitRank(row, ColumnWriter(rank_));
  rank_.Run();
}

void RowWriter::Write(const core::WorkerRow& row) {
  VisitWorker(row, ColumnWriter(worker_));
  worker_.Run();
}

void RowWriter::Write(const core::RemoveWorker& row) {
  Statement& statement = database_.Prepared("DELETE FROM workers WHERE name = ?");
  ColumnWriter{statement}(row.worker);
  statement.Run();
}

void RowWriter::Write(const core::DrainRow& row) {
  Statement& statement = database_.Prepared(Replace("drains", kDrainColumns));
  VisitDrain(row, ColumnWriter(statement));
  statement.Run();
}

void RowWriter::Write(const core::RemoveDrain& row) {
  Statement& statement = database_.Prepared("DELETE FROM drains WHERE target = ?");
  ColumnWriter{statement}(row.target);
  statement.Run();
}

void RowWriter::Write(const core::FaultRow& row) {
  Statement& statement = database_.Prepared(Replace("faults", kFaultColumns));
  VisitFault(row, ColumnWriter(statement));
  statement.Run();
}

void RowWriter::Write(const core::RemoveFault& row) {
  Statement& statement = database_.Prepared("DELETE FROM faults WHERE worker = ? AND xid = ?");
  ColumnWriter{statement}(row.worker, row.xid);
  statement.Run();
}

void RowWriter::Write(const core::SlowRow& row) {
  Statement& statement = database_.Prepared(Replace("slow_devices", kSlowColumns));
  VisitSlow(row, ColumnWriter(statement));
  statement.Run();
}

void RowWriter::Write(const core::RemoveSlow& row) {
  Statement& statement = database_.Prepared("DELETE FROM slow_devices WHERE worker = ?");
  ColumnWriter{statement}(row.worker);
  statement.Run();
}

// Which devices it has never changes.
void RowWriter::Write(const core::LeaseRow& row) {
  Statement& statement = database_.Prepared(
      "INSERT INTO leases (" + std::string(kLeaseColumns) + ") VALUES (" +
      Placeholders(kLeaseColumns) +
      ") ON CONFLICT (id) DO UPDATE SET end_at = excluded.end_at, over_at = excluded.over_at");
  VisitLease(row, ColumnWriter(statement));
  statement.Run();
  for (const std::string& worker : row.workers) {
    Statement& device =
        database_.Prepared("INSERT OR IGNORE INTO lease_workers (lease, worker) VALUES (?, ?)");
    ColumnWriter{device}(row.id, worker);
    device.Run();
  }
}

void RowWriter::Write(const core::EventRow& row) {
  Statement& statement = database_.Prepared("INSERT INTO events (job, at, text) VALUES (?, ?, ?)");
  ColumnWriter{statement}(row.job, row.at, row.text);
  statement.Run();
}

void RowWriter::Write(const core::AckRow& row) {
  Statement& statement = database_.Prepared(
      "INSERT OR REPLACE INTO acks (job, attempt, rank, sequence) VALUES (?, ?, ?, ?)");
  ColumnWriter{statement}(row.key.job, row.key.attempt, row.key.rank, row.sequence);
  statement.Run();
}

// What any job has saved there, on the host of the rank that says it is gone.
void RowWriter::Forget(const core::ArtefactRow& by, const std::string& path) {
  Statement& statement = database_.Prepared(kForgetArtefactSql);
  ColumnWriter{statement}(path, by.key.job, by.key.attempt, by.key.rank);
  statement.Run();
}

void RowWriter::Write(const core::ArtefactRow& row) {
  for (const std::string& path : row.saved.removed) Forget(row, path);
  Forget(row, row.saved.path);  // an older one of it has been replaced
  Statement& statement = database_.Prepared(
      "INSERT INTO artefacts (job, attempt, rank, kind, path, bytes, at, record) "
      "VALUES (?, ?, ?, ?, ?, ?, ?, ?)");
  ColumnWriter{statement}(row.key.job, row.key.attempt, row.key.rank, row.saved.kind,
                          row.saved.path, row.saved.bytes, row.at, row.saved.record);
  statement.Run();
}

// Of the first evaluation, and of the newest: a job may have one a step.
void RowWriter::Write(const core::ContinuationRow& row) {
  Statement& old = database_.Prepared(
      "DELETE FROM continuations WHERE job = ?1 AND step <> (SELECT MIN(step) FROM continuations "
      "WHERE job = ?1) AND step < (SELECT step FROM (SELECT DISTINCT step FROM continuations WHERE "
      "job = ?1 AND step < ?2 ORDER BY step DESC LIMIT ?3) ORDER BY step LIMIT 1)");
  ColumnWriter{old}(row.job, row.said.step, job::kNewestTextsKept - 1);
  old.Run();
  Statement& statement =
      database_.Prepared(Replace("continuations", "job, step, place, prompt, text"));
  ColumnWriter{statement}(row.job, row.said.step, row.said.place, row.said.prompt, row.said.text);
  statement.Run();
}

void RowWriter::Write(const core::RewindRow& row) {
  metrics_.Rewind(row);
  // Texts of so many done steps are those of the checkpoint that the run goes on from.
  Statement& statement =
      database_.Prepared("DELETE FROM continuations WHERE job = ?1 AND (step > ?2 OR ?2 = 0)");
  ColumnWriter{statement}(row.job, row.step);
  statement.Run();
}

void RowWriter::Write(const AuditRow& row) {
  Statement& statement = database_.Prepared(
      "INSERT INTO audit (at, actor, action, subject, address, verdict) VALUES (?, ?, ?, ?, ?, ?)");
  ColumnWriter{statement}(row.at, row.actor, row.action, row.subject, row.address, row.verdict);
  statement.Run();
}

}  // namespace trainctl::store
