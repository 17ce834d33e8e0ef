#include "server/coordinator/questions.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "server/coordinator/summaries.h"

namespace trainctl::coordinator {
namespace {

std::vector<core::ArtefactRow> LatestOfEachPath(std::vector<core::ArtefactRow> rows) {
  std::map<std::string, size_t> last;
  for (size_t i = 0; i < rows.size(); ++i) last[rows[i].saved.path] = i;
  std::vector<core::ArtefactRow> latest;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (last[rows[i].saved.path] == i) latest.push_back(std::move(rows[i]));
  }
  return latest;
}

base::Result<JobDetail> ReadDetail(store::Reader& reader, store::StoredJob job,
                                   const store::TextsQuestion& texts) {
  auto attempts = reader.Attempts(job.row.id);
  if (!attempts) return attempts.error();
  auto events = reader.Events(job.row.id);
  if (!events) return events.error();
  auto summaries = ReadSummaries(reader, job.row.id);
  if (!summaries) return summaries.error();
  auto artefacts = reader.Artefacts(job.row.id);
  if (!artefacts) return artefacts.error();
  auto continuations = reader.Continuations(job.row.id, texts);
  if (!continuations) return continuations.error();
  auto text_steps = reader.TextSteps(job.row.id);
  if (!text_steps) return text_steps.error();
  return JobDetail{std::move(job),
                   std::move(*attempts),
                   std::move(*events),
                   std::move(*summaries),
                   LatestOfEachPath(std::move(*artefacts)),
                   std::move(*continuations),
                   std::move(*text_steps)};
}

// The worker of the rank, then the others of its host.
std::vector<std::string> WorkersBeside(const job::RankKey& key,
                                       const std::vector<store::StoredAttempt>& attempts,
                                       const std::vector<core::WorkerRow>& workers) {
  std::vector<std::string> names;
  std::string host;
  for (const store::StoredAttempt& attempt : attempts) {
    for (const core::RankRow& rank : attempt.ranks) {
      if (rank.key != key) continue;
      names.push_back(rank.worker);
      host = rank.host;
    }
  }
  for (const core::WorkerRow& worker : workers) {
    if (worker.host == host && worker.name != names.front()) names.push_back(worker.name);
  }
  return names;
}

}  // namespace

base::Result<store::Reader::Found> FindOne(store::Reader& reader, const std::string& name) {
  auto found = reader.Find(name);
  if (found && found->jobs.empty()) {
    return base::Error{base::Code::kNotFound,
                       "no job or group '" + name.substr(0, 256) + "'; trainctl status lists all"};
  }
  return found;
}

base::Result<std::vector<base::JobId>> FindJobs(store::Reader& reader,
                                                const std::vector<std::string>& names) {
  std::vector<base::JobId> jobs;
  std::set<base::JobId> seen;
  for (const std::string& name : names) {
    const auto found = FindOne(reader, name);
    if (!found) return found.error();
    for (base::JobId job : found->jobs) {
      if (seen.insert(job).second) jobs.push_back(job);
    }
  }
  return jobs;
}

base::Result<std::vector<store::StoredJob>> ReadJobs(store::Reader& reader,
                                                     const std::vector<base::JobId>& jobs) {
  if (jobs.empty()) return std::vector<store::StoredJob>();
  store::JobFilter filter;
  filter.jobs = jobs;
  filter.limit = static_cast<int64_t>(jobs.size());
  auto stored = reader.Jobs(filter);
  if (!stored) return stored.error();
  std::map<base::JobId, store::StoredJob> by_id;
  for (store::StoredJob& job : *stored) by_id[job.row.id] = std::move(job);
  std::vector<store::StoredJob> ordered;
  for (base::JobId id : jobs) {
    const auto found = by_id.find(id);
    if (found != by_id.end()) ordered.push_back(std::move(found->second));
  }
  return ordered;
}

base::Result<Details> ReadDetails(store::Reader& reader, const std::string& name,
                                  const store::TextsQuestion& texts) {
  const auto found = FindOne(reader, name);
  if (!found) return found.error();
  auto jobs = ReadJobs(reader, found->jobs);
  if (!jobs) return jobs.error();
  Details details{found->group, found->group_name, {}};
  for (store::StoredJob& job : *jobs) {
    auto detail = ReadDetail(reader, std::move(job), texts);
    if (!detail) return detail.error();
    details.jobs.push_back(std::move(*detail));
  }
  return details;
}

base::Result<ArtifactPlace> FindArtifact(store::Reader& reader, const core::JobRow& job,
                                         const std::string& path) {
  const auto artefacts = reader.Artefacts(job.id);
  if (!artefacts) return artefacts.error();
  const auto saved = std::find_if(artefacts->rbegin(), artefacts->rend(),
                                  [&](const auto& row) { return row.saved.path == path; });
  if (saved == artefacts->rend()) {
    return base::Error{base::Code::kNotFound,
                       "no rank of " + base::ToString(job.id) + " has reported '" +
                           path.substr(0, 256) +
                           "' as saved: trainctl artifacts ls lists what was"};
  }
  const auto attempts = reader.Attempts(job.id);
  if (!attempts) return attempts.error();
  const auto workers = reader.Workers();
  if (!workers) return workers.error();
  return ArtifactPlace{WorkersBeside(saved->key, *attempts, *workers), saved->saved.record,
                       job.user};
}

base::Result<store::StoredJob> ReadOneJob(store::Reader& reader, const std::string& name) {
  const auto found = FindOne(reader, name);
  if (!found) return found.error();
  if (found->jobs.size() > 1) {
    std::string text = "'" + name + "' is a group of " + std::to_string(found->jobs.size()) +
                       " jobs; name one of them:";
    for (base::JobId job : found->jobs) text += " " + base::ToString(job);
    return base::Error{base::Code::kInvalid, text};
  }
  auto jobs = ReadJobs(reader, found->jobs);
  if (!jobs) return jobs.error();
  if (jobs->empty()) return base::Error{base::Code::kNotFound, "no job '" + name + "'"};
  return std::move(jobs->front());
}

}  // namespace trainctl::coordinator
