#include "tests/server/simulation/sim_reader.h"

#include <algorithm>
#include <iterator>
#include <optional>

namespace trainctl::core {
namespace {

template <class T>
bool IsAsked(const std::vector<T>& asked, const T& value) {
  return asked.empty() || std::ranges::find(asked, value) != asked.end();
}

}  // namespace

base::Result<std::optional<store::StoredSubmission>> SimReader::FindSubmission(
    std::string_view request_id) {
  const auto found = ledger().submissions().find(std::string(request_id));
  if (found == ledger().submissions().end()) return std::optional<store::StoredSubmission>();
  store::StoredSubmission submission{found->second, {}};
  for (const auto& [id, job] : ledger().jobs()) {
    if (job.row.request_id == request_id) submission.jobs.push_back(id);
  }
  return std::optional(std::move(submission));
}

base::Result<std::vector<store::StoredJob>> SimReader::Jobs(const store::JobFilter& filter) {
  std::vector<store::StoredJob> jobs;
  for (auto at = ledger().jobs().rbegin(); at != ledger().jobs().rend(); ++at) {
    const auto& [id, stored] = *at;
    if (std::ssize(jobs) == filter.limit) break;
    if (!IsAsked(filter.jobs, id) || !IsAsked(filter.states, stored.status.state)) continue;
    const auto removed = store_.kept().logs_removed.find(id);
    store::StoredJob& job = jobs.emplace_back();
    job.row = stored.row;
    job.status = stored.status;
    if (removed != store_.kept().logs_removed.end()) job.logs_removed_at = removed->second;
  }
  return jobs;
}

base::Result<store::Reader::OldLogs> SimReader::JobsWithOldLogs(base::WallMicros ended_before,
                                                                base::JobId behind) {
  OldLogs old{.last = behind};
  for (auto at = ledger().jobs().upper_bound(behind); at != ledger().jobs().end(); ++at) {
    const auto& [id, job] = *at;
    const bool has_ended = job.status.state == job::JobState::kFinished;
    if (store_.kept().logs_removed.contains(id)) {
      old.marked.push_back(id);
    } else if (has_ended && job.status.ended_at < ended_before) {
      old.jobs.push_back(id);
    }
    old.last = id;
    old.more = true;
  }
  return old;
}

base::Result<std::vector<base::JobId>> SimReader::RemovedAmong(const std::set<base::JobId>& jobs) {
  std::vector<base::JobId> removed;
  for (const store::AuditRow& row : store_.kept().audit) {
    const auto job = base::ParseJobId(row.subject);
    if (row.action == store::kRemovesJob && job && jobs.contains(*job) &&
        !ledger().jobs().contains(*job))
      removed.push_back(*job);
  }
  return removed;
}

base::Result<std::vector<store::StoredAttempt>> SimReader::Attempts(base::JobId job) {
  std::vector<store::StoredAttempt> attempts;
  const auto& rows = ledger().attempts();
  for (auto at = rows.lower_bound({job, 0}); at != rows.end() && at->first.first == job; ++at)
    attempts.push_back({at->second, {}});
  for (store::StoredAttempt& attempt : attempts) {
    const job::RankKey first{job, attempt.row.attempt, 0};
    for (auto at = ledger().ranks().lower_bound(first); at != ledger().ranks().end(); ++at) {
      if (at->first.job != job || at->first.attempt != first.attempt) break;
      attempt.ranks.push_back(at->second);
    }
  }
  return attempts;
}

base::Result<std::vector<store::JobOutput>> SimReader::OutputsOfOthers(std::string_view user) {
  std::vector<store::JobOutput> outputs;
  for (const auto& [id, job] : ledger().jobs()) {
    const bool may_be_there =
        job.status.attempt > 0 || job.status.state != job::JobState::kFinished;
    if (may_be_there && job.row.user != user && job.row.spec.output.dir)
      outputs.push_back({id, job.row.user, *job.row.spec.output.dir});
  }
  return outputs;
}

base::Result<std::vector<UseRow>> SimReader::UseSince(base::WallMicros since) {
  std::vector<UseRow> use = ledger().Use();
  std::erase_if(use, [since](const UseRow& row) { return row.to < since; });
  return use;
}

base::Result<std::vector<WorkerRow>> SimReader::Workers() {
  std::vector<WorkerRow> workers;
  for (const auto& [name, row] : ledger().workers()) workers.push_back(row);
  return workers;
}

base::Result<std::vector<store::AuditRow>> SimReader::Audit(int64_t limit, int64_t) {
  const std::vector<store::AuditRow>& audit = store_.kept().audit;
  const auto count = std::min(limit, std::ssize(audit));
  return std::vector<store::AuditRow>(audit.rbegin(), audit.rbegin() + count);
}

}  // namespace trainctl::core
