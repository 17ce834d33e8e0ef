#include "server/coordinator/comparison.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "server/coordinator/questions.h"
#include "server/coordinator/summaries.h"

namespace trainctl::coordinator {
namespace {

// Where the run ran and with what, of its last attempt.
void FillPlace(const store::StoredAttempt& attempt, compare::Run* run) {
  std::vector<std::string> hosts;
  for (const core::RankRow& rank : attempt.ranks) {
    if (std::find(hosts.begin(), hosts.end(), rank.host) == hosts.end()) hosts.push_back(rank.host);
  }
  for (const std::string& host : hosts) run->host += (run->host.empty() ? "" : ", ") + host;
  if (attempt.ranks.empty()) return;
  const core::RankRow& first = attempt.ranks.front();
  run->device_name = first.device_name;
  run->driver = first.started.driver;
  run->libtorch = first.started.libtorch;
  run->nccl = first.started.nccl;
  run->commit = first.started.commit;
}

base::Result<compare::Run> ReadRun(store::Reader& reader, const store::StoredJob& job) {
  if (job.row.unreadable) {
    return base::Error{base::Code::kInvalid, base::ToString(job.row.id) +
                                                 " can't be compared, since its stored job file "
                                                 "can't be read: " +
                                                 job.row.unreadable->why};
  }
  compare::Run run;
  run.id = base::ToString(job.row.id);
  run.name = job.row.spec.name;
  run.state = job.status.state;
  if (job.status.end) run.outcome = job.status.end->outcome;
  run.as_expected = job.status.as_expected;
  run.job = job.row.spec;
  run.inspection = job.row.inspection;
  run.prediction = job.row.prediction;
  const auto attempts = reader.Attempts(job.row.id);
  if (!attempts) return attempts.error();
  const auto failed_trials =
      std::count_if(attempts->begin(), attempts->end(), [](const store::StoredAttempt& attempt) {
        return attempt.row.trial == core::Trial::kFailed;
      });
  run.attempts = std::max<int64_t>(1, job.status.attempt - failed_trials);
  run.preempted =
      std::any_of(attempts->begin(), attempts->end(), [](const store::StoredAttempt& attempt) {
        return attempt.row.end && attempt.row.end->outcome == job::Outcome::kPreempted;
      });
  if (!attempts->empty()) FillPlace(attempts->back(), &run);
  auto neighbours = reader.Neighbours(job.row.id);
  if (!neighbours) return neighbours.error();
  run.neighbours = std::move(*neighbours);
  auto metrics = ReadSummaries(reader, job.row.id);
  if (!metrics) return metrics.error();
  run.metrics = std::move(*metrics);
  auto continuations = reader.Continuations(job.row.id, /*question=*/{});
  if (!continuations) return continuations.error();
  run.continuations = std::move(*continuations);
  return run;
}

base::Result<std::vector<base::JobId>> JobsToCompare(store::Reader& reader,
                                                     const std::vector<std::string>& names) {
  if (!names.empty()) return FindJobs(reader, names);
  auto group = reader.LatestGroup();
  if (!group) return group.error();
  if (group->jobs.empty())
    return base::Error{base::Code::kInvalid, "there is no group yet: name the jobs to compare"};
  return std::move(group->jobs);
}

base::Result<size_t> IndexOfBase(store::Reader& reader, const std::string& base,
                                 const std::vector<base::JobId>& jobs) {
  if (base.empty()) return size_t{0};
  const auto found = FindOne(reader, base);
  if (!found) return found.error();
  const auto at = std::find(jobs.begin(), jobs.end(), found->jobs.front());
  if (found->jobs.size() != 1 || at == jobs.end()) {
    return base::Error{base::Code::kInvalid, "base '" + base + "' is not one of the jobs compared"};
  }
  return static_cast<size_t>(at - jobs.begin());
}

}  // namespace

base::Result<Comparison> CompareJobs(store::Reader& reader, const std::vector<std::string>& names,
                                     const std::string& base) {
  const auto ids = JobsToCompare(reader, names);
  if (!ids) return ids.error();
  const auto jobs = ReadJobs(reader, *ids);
  if (!jobs) return jobs.error();
  const auto base_index = IndexOfBase(reader, base, *ids);
  if (!base_index) return base_index.error();
  Comparison comparison;
  for (const store::StoredJob& job : *jobs) {
    auto run = ReadRun(reader, job);
    if (!run) return run.error();
    comparison.runs.push_back(std::move(*run));
  }
  comparison.table = compare::Compare(comparison.runs, *base_index);
  return comparison;
}

}  // namespace trainctl::coordinator
