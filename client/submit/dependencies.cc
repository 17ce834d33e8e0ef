#include "client/submit/dependencies.h"

#include <map>
#include <string>
#include <utility>

#include "client/naming.h"
#include "common/base/ids.h"

namespace trainctl::client {
namespace {

using AfterJobs = std::map<std::string, job::After>;

base::Result<AfterJobs> Resolve(Context& context, const AfterJobs& named) {
  AfterJobs jobs;
  for (const auto& [name, after] : named) {
    if (base::ParseJobId(name)) {
      jobs[name] = after;
      continue;
    }
    const base::Result<v1::GetResponse> found = GetJobs(context, NewestMeant(context, name));
    if (!found.ok())
      return base::Error{found.error().code, "resources.after: " + found.error().message};
    for (const v1::JobDetail& detail : found->jobs()) jobs[detail.view().id()] = after;
  }
  return jobs;
}

}  // namespace

base::Result<JobFile> ResolveDependencies(Context& context, JobFile file) {
  if (context.api == nullptr) return file;
  for (job::JobSpec& job : file.jobs) {
    base::Result<AfterJobs> jobs = Resolve(context, job.resources.after);
    if (!jobs.ok()) return jobs.error();
    job.resources.after = *std::move(jobs);
  }
  return file;
}

}  // namespace trainctl::client
