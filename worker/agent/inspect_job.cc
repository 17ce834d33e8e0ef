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

base::Result<job::Inspection> Inspect(const job::JobSpec& job, const InspectionPlace& place) {
  for (const job::JobPath& named : job::PathsOf(job)) {
    const base::Status within = CheckWithin(named.path, named.use, place.roots);
    if (!within)
      return base::Error{base::Code::kInvalid, named.key + ": " + within.error().message};
  }
  const base::Status enclosed = data::EncloseJob(place.roots, place.caches);
  return enclosed ? data::Inspect(job, place.caches) : enclosed.error();
}

}  // namespace

int InspectJob(std::istream& in, const InspectionPlace& place, std::ostream& out,
               std::ostream& errors) {
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  const base::Result<job::JobSpec> spec = job::FromJson(text);
  const base::Result<job::Inspection> inspection = spec ? Inspect(*spec, place) : spec.error();
  if (!inspection) {
    errors << inspection.error().message << '\n';
    return StatusOf(inspection.error().code);
  }
  out << job::ToJson(*inspection) << '\n';
  return 0;
}

}  // namespace trainctl::agent
