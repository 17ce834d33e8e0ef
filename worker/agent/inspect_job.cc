#include "worker/agent/inspect_job.h"

#include <istream>
#include <iterator>
#include <ostream>
#include <string>

#include "common/estimate/memory_estimate.h"
#include "common/job/job_json.h"
#include "common/job/job_paths.h"
#include "worker/rank/data/inspect.h"
#include "worker/rank/data/job_fence.h"

namespace trainctl::agent {
namespace {

int StatusOf(base::Code code) {
  return code == base::Code::kInvalid || code == base::Code::kNotFound ? 2 : 1;
}

base::Result<job::Inspection> Inspect(const job::JobSpec& job, const InspectionPlace& place,
                                      std::ostream& errors) {
  for (const job::JobPath& named : job::PathsOf(job)) {
    const base::Status within = CheckPathOfJob(named.path, named.use, place.roots);
    if (!within)
      return base::Error{base::Code::kInvalid, named.key + ": " + within.error().message};
  }
  const base::Status enclosed = data::EncloseJob(place.roots, place.caches);
  if (!enclosed) return enclosed.error();
  return data::Inspect(job, place.caches, [&](const std::string& holder) {
    errors << kInspectionNote << "waits for " << holder << ", which makes the same tokens"
           << std::endl;
  });
}

}  // namespace

int InspectJob(std::istream& in, const InspectionPlace& place, std::ostream& out,
               std::ostream& errors) {
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  const base::Result<job::JobSpec> spec = job::FromJson(text);
  const base::Result<job::Inspection> inspection =
      spec ? Inspect(*spec, place, errors) : spec.error();
  if (!inspection) {
    errors << inspection.error().message << '\n';
    return StatusOf(inspection.error().code);
  }
  out << job::ToJson(*inspection) << '\n';
  return 0;
}

}  // namespace trainctl::agent
