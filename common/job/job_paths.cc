#include "common/job/job_paths.h"

#include "common/job/hub_id.h"
#include "common/job/trains.h"

namespace trainctl::job {

std::vector<JobPath> PathsOf(const JobSpec& job) {
  using enum base::FileUse;
  std::vector<JobPath> paths;
  if (!IsHubId(job.model.path)) paths.push_back({"model.path", job.model.path, kRead, true});
  if (Trains(job)) {
    paths.push_back({"data.path", job.data.path, kRead, true});
    if (job.data.val_path) paths.push_back({"data.val_path", *job.data.val_path, kRead, true});
  }
  for (size_t i = 0; i < job.eval.images.size(); ++i)
    paths.push_back({"eval.images[" + std::to_string(i) + "]", job.eval.images[i], kRead, true});
  if (job.checkpoint.resume_from)
    paths.push_back({"checkpoint.resume_from", *job.checkpoint.resume_from, kRead});
  if (job.output.dir) paths.push_back({"output.dir", *job.output.dir, kWrite});
  return paths;
}

}  // namespace trainctl::job
