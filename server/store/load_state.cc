#include "server/store/load_state.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <string>
#include <thread>

#include "server/store/row_columns.h"

namespace trainctl::store {
namespace {

constexpr size_t kTextsAtOnce = 10'000;  // whose memory is taken until they are read
constexpr size_t kLeastOfAThread = 500;  // so that the thread is worth its start

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

std::vector<core::JobGap> LoadGaps(Database& database) {
  Statement statement(database, "SELECT first, last FROM gaps ORDER BY first");
  std::vector<core::JobGap> gaps;
  while (statement.Next()) {
    core::JobGap& gap = gaps.emplace_back();
    statement.Get(gap.first, gap.last);
  }
  return gaps;
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

std::vector<core::FaultRow> LoadFaults(Database& database) {
  Statement statement(database,
                      "SELECT " + std::string(kFaultColumns) + " FROM faults ORDER BY worker, xid");
  std::vector<core::FaultRow> faults;
  while (statement.Next()) VisitFault(faults.emplace_back(), ColumnReader(database, statement));
  return faults;
}

std::vector<core::SlowRow> LoadSlow(Database& database) {
  Statement statement(database,
                      "SELECT " + std::string(kSlowColumns) + " FROM slow_devices ORDER BY worker");
  std::vector<core::SlowRow> slow;
  while (statement.Next()) VisitSlow(slow.emplace_back(), ColumnReader(database, statement));
  return slow;
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

// Reading their JSON is most of a start: every core takes part.
void ReadTexts(std::vector<JobText>& texts, std::vector<core::UnfinishedJob>* jobs) {
  const size_t first = jobs->size() - texts.size();
  const size_t threads = std::min<size_t>(std::max(1u, std::thread::hardware_concurrency()),
                                          texts.size() / kLeastOfAThread + 1);
  std::atomic<size_t> next = 0;
  const auto read = [&] {
    for (size_t i = next++; i < texts.size(); i = next++)
      (*jobs)[first + i].row = ReadJob(std::move(texts[i]));
  };
  std::vector<std::jthread> others;
  for (size_t i = 1; i < threads; ++i) others.emplace_back(read);
  read();
  others.clear();  // joins them
  texts.clear();
}

std::vector<core::UnfinishedJob> LoadJobs(Database& database) {
  Statement statement(
      database,
      "SELECT " + std::string(kJobColumns) + ", " + kStatusColumns +
          " FROM job_status JOIN jobs ON id = job WHERE state != 'FINISHED' ORDER BY job");
  std::vector<core::UnfinishedJob> jobs;
  std::vector<JobText> texts;
  while (statement.Next()) {
    texts.push_back(ReadJobText(database, statement));
    VisitStatus(jobs.emplace_back().status, ColumnReader(database, statement));
    if (texts.size() == kTextsAtOnce) ReadTexts(texts, &jobs);
  }
  ReadTexts(texts, &jobs);
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

// Those of the job before the one that is live; of a QUEUED job all.
void LoadEnded(Database& database, Statement& ranks, core::UnfinishedJob* job) {
  if (job->status.attempt == (job->attempt ? 1 : 0)) return;
  Statement& attempts =
      database.Prepared("SELECT " + std::string(kAttemptColumns) +
                        " FROM attempts WHERE job = ? AND attempt <= ? ORDER BY attempt");
  attempts.Put(job->row.id.value, job->status.attempt - (job->attempt ? 1 : 0));
  while (attempts.Next())
    VisitAttempt(job->ended.emplace_back().row, ColumnReader(database, attempts));
  for (core::EndedAttempt& ended : job->ended) {
    ranks.Put(job->row.id.value, ended.row.attempt);
    while (ranks.Next()) VisitRank(ended.ranks.emplace_back(), ColumnReader(database, ranks));
  }
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
  state.gaps = LoadGaps(database);
  state.next_job = NextId(database, "jobs");
  state.next_group = NextId(database, "groups");
  state.workers = LoadWorkers(database);
  state.drains = LoadDrains(database);
  state.faults = LoadFaults(database);
  state.slow = LoadSlow(database);
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
    if (job.status.state != job::JobState::kQueued) {
      LoadAttempt(database, attempts, ranks, &job);
      LoadAcks(database, job, &state.acks);
    }
    LoadEnded(database, ranks, &job);
  }
  return state;
}

}  // namespace trainctl::store
