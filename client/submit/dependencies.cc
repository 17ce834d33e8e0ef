#include "client/submit/dependencies.h"

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "client/naming.h"
#include "client/show/decoded.h"
#include "common/base/ids.h"
#include "common/job/after_check.h"

namespace trainctl::client {
namespace {

using AfterJobs = std::map<std::string, job::After>;

bool EndedOk(const v1::JobView& view) {
  return view.has_as_expected() ? view.as_expected() : Succeeded(view);
}

base::Error Refusal(const job::JobSpec& job, const job::Problem& problem) {
  return {base::Code::kInvalid, job::Format({problem}, job.name)};
}

base::Result<AfterJobs> Resolve(Context& context, const job::JobSpec& job) {
  AfterJobs jobs;
  for (const auto& [name, after] : job.resources.after) {
    const base::Result<v1::GetResponse> found = GetJobs(context, NewestMeant(context, name));
    const bool is_unknown = !found.ok() && found.error().code == base::Code::kNotFound;
    if (is_unknown && base::ParseJobId(name)) return Refusal(job, job::NothingToFollow(name));
    if (!found.ok())
      return base::Error{found.error().code, "resources.after: " + found.error().message};
    for (const v1::JobDetail& detail : found->jobs()) {
      const v1::JobView& view = detail.view();
      const std::optional<job::Outcome> outcome = OutcomeOf(view);
      if (HasEnded(view) && outcome && !job::MayFollow(after, EndedOk(view)))
        return Refusal(job, job::NeverToFollow(view.id(), *outcome));
      jobs[view.id()] = after;
    }
  }
  return jobs;
}

}  // namespace

base::Result<JobFile> ResolveDependencies(Context& context, JobFile file) {
  if (context.api == nullptr) return file;
  for (job::JobSpec& job : file.jobs) {
    base::Result<AfterJobs> jobs = Resolve(context, job);
    if (!jobs.ok()) return jobs.error();
    job.resources.after = *std::move(jobs);
  }
  return file;
}

}  // namespace trainctl::client
