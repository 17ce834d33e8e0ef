#include "server/core/job_indexes.h"

#include "common/job/output_folder.h"

namespace trainctl::core {

void EnterIndexes(State& state, const Job& job) {
  const job::JobSpec& spec = job.row.spec;
  std::set<base::JobId>& alike = state.jobs_of[job.row.user][job::PriorityOf(spec)];
  alike.insert(alike.end(), job.row.id);  // it is the newest
  if (job::WritesOutput(spec))
    state.output_folders[job::NormalFolder(*spec.output.dir)] = job.row.id;
}

void LeaveIndexes(State& state, const Job& job) {
  const job::JobSpec& spec = job.row.spec;
  const auto of_user = state.jobs_of.find(job.row.user);
  const auto alike = of_user->second.find(job::PriorityOf(spec));
  alike->second.erase(job.row.id);
  if (alike->second.empty()) of_user->second.erase(alike);
  if (of_user->second.empty()) state.jobs_of.erase(of_user);
  if (job::WritesOutput(spec)) state.output_folders.erase(job::NormalFolder(*spec.output.dir));
}

}  // namespace trainctl::core
