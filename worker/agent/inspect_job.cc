#include "worker/agent/inspect_job.h"

#include <istream>
#include <iterator>
#include <ostream>
#include <string>

#include "common/estimate/memory_estimate.h"
#include "common/job/job_json.h"
#include "worker/rank/data/inspect.h"

namespace trainctl::agent {
namespace {

int StatusOf(base::Code code) {
  return code == base::Code::kInvalid || code == base::Code::kNotFound ? 2 : 1;
}

}  // namespace

int InspectJob(std::istream& in, const data::CacheFolders& caches, std::ostream& out,
               std::ostream& errors) {
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  const base::Result<job::JobSpec> spec = job::FromJson(text);
  const base::Result<job::Inspection> inspection =
      spec ? data::Inspect(*spec, caches) : spec.error();
  if (!inspection) {
    errors << inspection.error().message << '\n';
    return StatusOf(inspection.error().code);
  }
  out << job::ToJson(*inspection) << '\n';
  return 0;
}

}  // namespace trainctl::agent
