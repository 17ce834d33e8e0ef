#include "server/coordinator/dependencies.h"

#include <optional>
#include <string>

#include "common/job/after_check.h"

namespace trainctl::coordinator {
namespace {

base::Result<std::optional<job::Problem>> Check(const core::State& state, store::Reader& reader,
                                                const std::string& name, job::After after) {
  const std::optional<base::JobId> id = base::ParseJobId(name);
  if (!id) {
    return std::optional(
        job::Problem{"resources.after", 0, '"' + name + '"', "the id of a job, such as j12", ""});
  }
  if (core::FindJob(state, *id) != nullptr) return std::optional<job::Problem>();
  store::JobFilter filter;
  filter.jobs = {*id};
  filter.limit = 1;
  const auto jobs = reader.Jobs(filter);
  if (!jobs) return jobs.error();
  if (jobs->empty()) return std::optional(job::NothingToFollow(name));
  const core::JobStatus& status = jobs->front().status;
  if (job::MayFollow(after, core::EndedOk(status))) return std::optional<job::Problem>();
  return std::optional(job::NeverToFollow(name, status.end->outcome));
}

}  // namespace

base::Result<std::vector<job::Problem>> CheckDependencies(const core::State& state,
                                                          store::Reader& reader,
                                                          const job::JobSpec& job) {
  std::vector<job::Problem> problems;
  for (const auto& [name, after] : job.resources.after) {
    const auto problem = Check(state, reader, name, after);
    if (!problem) return problem.error();
    if (*problem) problems.push_back(**problem);
  }
  return problems;
}

}  // namespace trainctl::coordinator
