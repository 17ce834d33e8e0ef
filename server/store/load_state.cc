#include "server/store/load_state.h"

#include <limits>
#include <string>

#include "server/store/row_columns.h"

namespace trainctl::store {
namespace {

// The number after the highest that was ever used.
int64_t NextId(Database& database, std::string_view table) {
  Statement& statement = database.Prepared("SELECT seq FROM sqlite_sequence WHERE name = ?");
  statement.Put(table);
  int64_t last = 0;
  while (statement.Next()) statement.Get(last);
  return last < std::numeric_limits<int64_t>::max() ? last + 1 : 0;
}

std::string LoadSite(Database& database) {
  Statement statement(database, "SELECT id FROM site");
  std::string id;
  while (statement.Next()) statement.Get(id);
  return id;
}

std::vector<core::WorkerRow> LoadWorkers(Database& database) {
  Statement statement(database,
                      "SELECT " + std::string(kWorkerColumns) + " FROM workers ORDER BY name");
  std::vector<core::WorkerRow> workers;
  while (statement.Next()) VisitWorker(workers.emplace_back(), ColumnReader(database, statement));
  return workers;
}

std::vector<core::DrainRow> LoadDrains(Database& database) {
  Statement statement(database,
                      "SELECT " + std::string(kDrainColumns) + " FROM drains ORDER BY target");
  std::vector<core::DrainRow> drains;
  while (statement.Next()) VisitDrain(drains.emplace_back(), ColumnReader(database, statement));
  return drains;
}

std::vector<core::LeaseRow> LoadLeases(Database& database) {
  Statement statement(database, "SELECT " + std::string(kLeaseColumns) +
                                    " FROM leases WHERE over_at = 0 ORDER BY id");
  std::vector<core::LeaseRow> leases;
  while (statement.Next()) VisitLease(leases.emplace_back(), ColumnReader(database, statement));
  for (core::LeaseRow& lease : leases) {
    Statement& workers =
        database.Prepared("SELECT worker FROM lease_workers WHERE lease = ? ORDER BY worker");
    workers.Put(lease.id);
    while (workers.Next()) workers.Get(lease.workers.emplace_back());
  }
  return leases;
}

// Of unfinished jobs, those with a bound.
std::vector<core::GroupRow> LoadGroups(Database& database) {
  Statement statement(
      database,
      "SELECT id, name, submitted_at, max_parallel FROM groups WHERE max_parallel > "
      "0 AND id IN (SELECT group_id FROM jobs JOIN job_status ON job = id WHERE "
      "state != 'FINISHED') ORDER BY id");
  std::vector<core::GroupRow> groups;
  while (statement.Next()) {
    core::GroupRow& row = groups.emplace_back();
    ColumnReader(database, statement)(row.id, row.name, row.submitted_at, row.max_parallel);
  }
  return groups;
}

std::vector<core::UnfinishedJob> LoadJobs(Database& database) {
  Statement statement(
      database,
      "SELECT " + std::string(kJobColumns) + ", " + kStatusColumns +
          " FROM job_status JOIN jobs ON id = job WHERE state != 'FINISHED' ORDER BY job");
  std::vector<core::UnfinishedJob> jobs;
  while (statement.Next()) {
    core::UnfinishedJob& job = jobs.emplace_back();
    job.row = ReadJob(database, statement);
    VisitStatus(job.status, ColumnReader(database, statement));
  }
  return jobs;
}

void LoadAttempt(Database& database, Statement& attempts, Statement& ranks,
                 core::UnfinishedJob* job) {
  attempts.Put(job->row.id.value, job->status.attempt);
  while (attempts.Next()) VisitAttempt(job->attempt.emplace(), ColumnReader(database, attempts));
  ranks.Put(job->row.id.value, job->status.attempt);
  while (ranks.Next()) VisitRank(job->ranks.emplace_back(), ColumnReader(database, ranks));
  if (job->row.unreadable) job->row.spec.devices = static_cast<int64_t>(job->ranks.size());
}

void LoadAcks(Database& database, const core::UnfinishedJob& job,
              std::map<job::RankKey, int64_t>* acks) {
  Statement& statement =
      database.Prepared("SELECT rank, sequence FROM acks WHERE job = ? AND attempt = ?");
  statement.Put(job.row.id.value, job.status.attempt);
  while (statement.Next()) {
    job::RankKey key{job.row.id, job.status.attempt, 0};
    int64_t sequence = 0;
    statement.Get(key.rank, sequence);
    (*acks)[key] = sequence;
  }
}

}  // namespace

core::StoredState LoadState(Database& database) {
  core::StoredState state;
  state.site = LoadSite(database);
  state.next_job = NextId(database, "jobs");
  state.next_group = NextId(database, "groups");
  state.workers = LoadWorkers(database);
  state.drains = LoadDrains(database);
  state.next_lease = NextId(database, "leases");
  state.leases = LoadLeases(database);
  state.groups = LoadGroups(database);
  state.jobs = LoadJobs(database);
  const std::string of_attempt = " WHERE job = ? AND attempt = ?";
  Statement attempts(database,
                     "SELECT " + std::string(kAttemptColumns) + " FROM attempts" + of_attempt);
  Statement ranks(database, "SELECT " + std::string(kRankColumns) + " FROM ranks" + of_attempt +
                                " ORDER BY rank");
  for (core::UnfinishedJob& job : state.jobs) {
    if (job.status.state == job::JobState::kQueued) continue;
    LoadAttempt(database, attempts, ranks, &job);
    LoadAcks(database, job, &state.acks);
  }
  return state;
}

}  // namespace trainctl::store
