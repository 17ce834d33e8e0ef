// A store of rows in memory, for tests of the core: keeps what Step persists, gives back what
// Restore wants. simulation_test.cc holds it to the answers of the SQLite store.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "server/core/actions.h"
#include "server/core/restore.h"

namespace trainctl::core {

class Ledger {
 public:
  void Apply(const std::vector<Persist>& rows);
  StoredState LoadState() const;
  // Of attempts that have ended, also of jobs that were removed; and of those alone.
  std::vector<UseRow> Use() const;
  const std::vector<UseRow>& removed_use() const { return removed_use_; }

  struct StoredJob {
    JobRow row;
    JobStatus status;
  };
  const std::map<base::JobId, StoredJob>& jobs() const { return jobs_; }
  const std::map<std::pair<base::JobId, int64_t>, AttemptRow>& attempts() const {
    return attempts_;
  }
  const std::map<job::RankKey, RankRow>& ranks() const { return ranks_; }
  const std::map<int64_t, LeaseRow>& leases() const { return leases_; }
  const std::map<std::string, WorkerRow>& workers() const { return workers_; }
  // By request id; what has been removed too.
  const std::map<std::string, base::GroupId>& submissions() const { return submissions_; }
  // Of each rank, in order of arrival.
  const std::map<job::RankKey, std::vector<job::MetricPoint>>& points() const { return points_; }

 private:
  void Write(const SubmissionRow& row) { submissions_[row.request_id] = row.group; }
  void Write(const GroupRow& row) {
    last_group_ = row.id;
    groups_[row.id] = row;
  }
  void Write(const JobRow& row) {
    last_job_ = std::max(last_job_, row.id);
    jobs_[row.id].row = row;
  }
  void Write(const UpdateJob& row) { jobs_[row.job].status = row.status; }
  void Write(const UpdateInspection& row) {
    jobs_[row.job].row.inspection = row.inspection;
    jobs_[row.job].row.prediction = row.prediction;
  }
  void Write(const UpdateSpec& row) {
    jobs_[row.job].row.spec = row.spec;
    jobs_[row.job].row.prediction = row.prediction;
  }
  void Write(const RemoveJob& row);
  void Write(const AttemptRow& row) { attempts_[{row.job, row.attempt}] = row; }
  void Write(const RankRow& row) { ranks_[row.key] = row; }
  void Write(const WorkerRow& row) { workers_[row.name] = row; }
  void Write(const RemoveWorker& row) { workers_.erase(row.worker); }
  void Write(const DrainRow& row) { drains_[row.target] = row; }
  void Write(const RemoveDrain& row) { drains_.erase(row.target); }
  void Write(const FaultRow& row) { faults_[{row.worker, row.fault.xid}] = row; }
  void Write(const RemoveFault& row) { faults_.erase({row.worker, row.xid}); }
  void Write(const SlowRow& row) { slow_[row.worker] = row; }
  void Write(const RemoveSlow& row) { slow_.erase(row.worker); }
  void Write(const LeaseRow& row) {
    last_lease_ = std::max(last_lease_, row.id);
    leases_[row.id] = row;
  }
  void Write(const EventRow&) {}
  void Write(const MetricRows& rows);
  void Write(const RewindRow&) {}
  void Write(const AckRow& row) { acks_[row.key] = row.sequence; }
  void Write(const ArtefactRow&) {}
  void Write(const ContinuationRow&) {}

  std::vector<UseRow> UseOf(base::JobId job) const;
  std::vector<EndedAttempt> EndedAttempts(base::JobId job, int64_t last) const;

  std::map<base::JobId, StoredJob> jobs_;
  std::vector<UseRow> removed_use_;
  std::map<std::string, base::GroupId> submissions_;
  base::JobId last_job_;
  base::GroupId last_group_;
  std::map<std::pair<base::JobId, int64_t>, AttemptRow> attempts_;
  std::map<job::RankKey, RankRow> ranks_;
  std::map<std::string, WorkerRow> workers_;
  std::map<std::string, DrainRow> drains_;
  std::map<std::pair<std::string, int64_t>, FaultRow> faults_;
  std::map<std::string, SlowRow> slow_;
  int64_t last_lease_ = 0;
  std::map<int64_t, LeaseRow> leases_;
  std::map<base::GroupId, GroupRow> groups_;
  std::map<job::RankKey, int64_t> acks_;
  std::map<job::RankKey, std::vector<job::MetricPoint>> points_;
};

}  // namespace trainctl::core
