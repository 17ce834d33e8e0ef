#include "common/job/needed_paths.h"

#include "common/job/hub_id.h"
#include "common/job/trains.h"

namespace trainctl::job {

std::vector<NeededPath> NeededPaths(const JobSpec& job) {
  std::vector<NeededPath> paths;
  if (!IsHubId(job.model.path)) paths.push_back({"model.path", job.model.path});
  if (Trains(job)) {
    paths.push_back({"data.path", job.data.path});
    if (job.data.val_path) paths.push_back({"data.val_path", *job.data.val_path});
  }
  for (size_t i = 0; i < job.eval.images.size(); ++i)
    paths.push_back({"eval.images[" + std::to_string(i) + "]", job.eval.images[i]});
  return paths;
}

}  // namespace trainctl::job
