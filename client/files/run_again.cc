#include "client/files/run_again.h"

#include <algorithm>
#include <vector>

#include "client/files/lab_file_text.h"
#include "client/show/output.h"
#include "common/job/check_job.h"
#include "common/job/job_json.h"
#include "common/job/output_folder.h"

namespace trainctl::client {

std::string RunAgainCommand(const std::string& file, const v1::GetResponse& jobs) {
  const bool writes = std::ranges::any_of(jobs.jobs(), [](const v1::JobDetail& detail) {
    const base::Result<job::JobSpec> job = job::FromJson(detail.job_json());
    return job.ok() && job::WritesOutput(*job);
  });
  return "trainctl submit " + file + (writes ? " --output.dir DIR" : "");
}

std::string RunAgainFile(const v1::GetResponse& jobs) {
  if (jobs.jobs_size() == 1) return JobFileText(jobs.jobs(0));
  std::vector<job::JobSpec> specs;
  for (const v1::JobDetail& detail : jobs.jobs()) {
    const base::Result<job::JobSpec> spec = job::FromJson(detail.job_json());
    if (spec.ok()) specs.push_back(*spec);
  }
  return LabFileText(specs);
}

std::string JobFileText(const v1::JobDetail& detail) {
  const base::Result<job::JobSpec> spec = job::FromJson(detail.job_json());
  const Json json = Json::parse(spec.ok() ? job::ToJson(job::ResolveJob(*spec)) : detail.job_json(),
                                nullptr, /*allow_exceptions=*/false);
  return json.is_discarded() ? detail.job_json()
                             : json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace trainctl::client
