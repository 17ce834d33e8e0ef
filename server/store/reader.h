// Questions about what is stored: jobs (finished ones too), attempts, metrics, logs. A Reader sees
// what was committed before each call; for live jobs the core's State is ahead of it by what is
// being committed.
//
// Errors of every method: kIo. Each Reader is used by one thread at a time; several Readers work
// beside each other and beside the Store.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/ids.h"
#include "common/base/result.h"
#include "common/job/neighbour.h"
#include "common/rank/metric.h"
#include "server/core/rows.h"
#include "server/store/store.h"

namespace trainctl::store {

struct StoredJob {
  core::JobRow row;
  core::JobStatus status;
  std::string group_name;                   // empty: no group
  std::vector<std::string> placement;       // of the latest attempt, by rank: worker names
  std::optional<double> tokens_per_second;  // over all steps so far
  base::WallMicros logs_removed_at = 0;     // for their age; 0: they were not
};

struct TagFilter {
  std::string key;
  std::optional<std::string> value;  // unset: any
};

// All conditions hold; an empty list is no condition.
struct JobFilter {
  std::vector<base::JobId> jobs;
  std::vector<job::JobState> states;   // a job has one of these,
  std::vector<job::Outcome> outcomes;  // or ended in one of these
  std::vector<std::string> users;
  std::vector<TagFilter> tags;     // of each tag
  std::vector<std::string> names;  // a job's own, or its group's
  bool unfinished_only = false;
  base::WallMicros ended_before = 0;  // FINISHED before it; 0: no condition
  base::JobId before;                 // a smaller id than this; 0: no condition
  int64_t limit = 1000;
};

struct StoredAttempt {
  core::AttemptRow row;
  std::vector<core::RankRow> ranks;  // by rank
};

struct StoredSubmission {
  base::GroupId group;            // 0: a single job
  std::vector<base::JobId> jobs;  // in the order of the request
};

struct JobOutput {
  base::JobId job;
  std::string user;    // its owner; empty: not known
  std::string folder;  // its output.dir
};

struct MetricFilter {
  std::vector<std::string> names;  // none: all
  std::optional<int64_t> rank;
  int64_t first_step = std::numeric_limits<int64_t>::min();
  int64_t last_step = std::numeric_limits<int64_t>::max();
  std::optional<job::MetricPoint> behind;  // only those that come behind this one
};

// Of which evaluations texts are read; neither: of the first and the last.
struct TextsQuestion {
  bool all = false;
  std::optional<int64_t> step = {};
};

struct JobCounts {
  std::map<job::JobState, int64_t> states;
  std::map<job::Outcome, int64_t> outcomes;  // of those that are FINISHED
};

class Reader {
 public:
  virtual ~Reader() = default;

  // nullopt: never seen.
  virtual base::Result<std::optional<StoredSubmission>> FindSubmission(
      std::string_view request_id) = 0;

  // What people call a job or a group: its id, or its name (the newest of that name; a group's name
  // before a job's). Jobs in order of id; empty: nothing is called so. A group: all its jobs.
  struct Found {
    base::GroupId group;  // 0: a job was meant
    std::string group_name;
    std::vector<base::JobId> jobs;
  };
  virtual base::Result<Found> Find(std::string_view id_or_name) = 0;

  // The newest group. jobs empty: there is none.
  virtual base::Result<Found> LatestGroup() = 0;

  // A stretch of the jobs with larger ids: those that ended before then.
  struct OldLogs {
    std::vector<base::JobId> jobs;    // whose logs are not marked as removed
    std::vector<base::JobId> marked;  // that are: a kill may have come before the removal
    base::JobId last;                 // of the stretch: to be asked behind it
    bool more = false;                // the stretch is not empty
  };
  virtual base::Result<OldLogs> JobsWithOldLogs(base::WallMicros ended_before,
                                                base::JobId behind) = 0;

  // Those of them that somebody has removed, as the audit log says.
  virtual base::Result<std::vector<base::JobId>> RemovedAmong(
      const std::set<base::JobId>& jobs) = 0;

  // Newest first.
  virtual base::Result<std::vector<StoredJob>> Jobs(const JobFilter& filter) = 0;

  // Of all jobs; a state or outcome of a later version is left out.
  virtual base::Result<JobCounts> CountJobs() = 0;

  // By attempt.
  virtual base::Result<std::vector<StoredAttempt>> Attempts(base::JobId job) = 0;

  // Oldest first.
  virtual base::Result<std::vector<core::EventRow>> Events(base::JobId job) = 0;
  virtual base::Result<std::vector<core::ArtefactRow>> Artefacts(base::JobId job) = 0;

  // What the model made of its prompts, by step and place.
  virtual base::Result<std::vector<job::RankContinuation>> Continuations(
      base::JobId job, const TextsQuestion& question) = 0;
  // The steps of evaluations whose texts are kept, rising.
  virtual base::Result<std::vector<int64_t>> TextSteps(base::JobId job) = 0;

  // The output.dir of jobs of others than this user: of those that have had an attempt, or may have
  // one. Newest first.
  virtual base::Result<std::vector<JobOutput>> OutputsOfOthers(std::string_view user) = 0;

  // Of attempts that ended then or later, also of jobs that were removed; and of leases that are
  // over.
  virtual base::Result<std::vector<core::UseRow>> UseSince(base::WallMicros since) = 0;

  // By name.
  virtual base::Result<std::vector<core::WorkerRow>> Workers() = 0;

  // By host and job, each once.
  virtual base::Result<std::vector<job::Neighbour>> Neighbours(base::JobId job) = 0;

  // By name, rank (the gang's first), phase; without medians.
  virtual base::Result<std::vector<job::MetricSummary>> Summaries(base::JobId job) = 0;

  // The points by name, rank (the gang's first), phase, step, handed over in pieces of at most
  // 4,096; `take` returns false to stop.
  using TakePoints = std::function<bool(std::span<const job::MetricPoint>)>;
  virtual base::Status Points(base::JobId job, const MetricFilter& filter,
                              const TakePoints& take) = 0;

  // Newest first, of those with a smaller id than `before`; 0: of all.
  virtual base::Result<std::vector<AuditRow>> Audit(int64_t limit, int64_t before = 0) = 0;
};

}  // namespace trainctl::store
