#include "client/submit/resumed_run.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "client/show/decoded.h"
#include "common/job/job_json.h"

namespace trainctl::client {
namespace {

// The last checkpoint that the job said was whole.
const v1::Artifact* LastCheckpoint(const v1::JobDetail& detail) {
  const v1::Artifact* last = nullptr;
  for (const v1::Artifact& artifact : detail.artifacts()) {
    if (artifact.kind() == "checkpoint") last = &artifact;
  }
  return last;
}

}  // namespace

std::optional<std::string> ResumeFolder(const v1::JobDetail& detail, const job::JobSpec& job) {
  const v1::Artifact* checkpoint = LastCheckpoint(detail);
  if (checkpoint != nullptr)
    return std::filesystem::path(checkpoint->path()).parent_path().string();
  return job.checkpoint.resume_job ? job.checkpoint.resume_from : std::nullopt;
}

base::Result<job::ResumedRun> ReadResumedRun(const v1::JobDetail& detail) {
  base::Result<job::JobSpec> spec = job::FromJson(detail.job_json());
  if (!spec.ok()) return spec.error();
  const v1::JobView& view = detail.view();
  return job::ResumedRun{
      .id = view.id(),
      .spec = std::move(*spec),
      .succeeded = Succeeded(view),
      .has_model = std::ranges::any_of(
          detail.artifacts(), [](const auto& artifact) { return job::IsModel(artifact.kind()); }),
      .step = view.step(),
      .steps = view.steps()};
}

std::optional<job::ResumedRun> FindResumedRun(Context& context, const job::JobSpec& job) {
  const std::optional<std::string>& resumed = job.checkpoint.resume_job;
  if (!resumed || context.api == nullptr) return std::nullopt;
  const base::Result<v1::GetResponse> jobs = GetJobs(context, *resumed);
  if (!jobs.ok() || jobs->jobs_size() != 1 || !HasEnded(jobs->jobs(0).view())) return std::nullopt;
  base::Result<job::ResumedRun> earlier = ReadResumedRun(jobs->jobs(0));
  return earlier.ok() ? std::optional(std::move(*earlier)) : std::nullopt;
}

}  // namespace trainctl::client
