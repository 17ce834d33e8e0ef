#include "client/submit/within.h"

#include <algorithm>
#include <iostream>
#include <string>

#include "client/submit/lab_time.h"
#include "common/base/size.h"

namespace trainctl::client {
namespace {

// "": they name none, or several.
std::string LeaseOfAll(const std::vector<job::JobSpec>& jobs) {
  const std::optional<std::string>& first = jobs.front().resources.lease;
  const bool is_one = std::ranges::all_of(
      jobs, [&](const job::JobSpec& job) { return job.resources.lease == first; });
  return is_one ? first.value_or("") : "";
}

base::Result<std::optional<v1::Lease>> AskForLease(Context& context, const std::string& name,
                                                   SubmitOptions* options) {
  const base::Result<Api*> api = NeedApi(context);
  if (!api.ok()) return api.error();
  const base::Result<v1::LeasesResponse> leases = (*api)->Leases();
  if (!leases.ok()) return leases.error();
  for (const v1::Lease& lease : leases->leases()) {
    if (lease.name() != name) continue;
    const int64_t rest = lease.end() - leases->grace_us() - std::max(leases->now(), lease.start());
    options->within_seconds = std::max<int64_t>(0, rest / 1'000'000);
    return std::optional(lease);
  }
  return base::Error{base::Code::kNotFound,
                     "no lease '" + name + "', or it is over; trainctl lease ls lists them"};
}

}  // namespace

base::Result<std::optional<v1::Lease>> FindWithin(Context& context, std::vector<job::JobSpec>* jobs,
                                                  SubmitOptions* options) {
  std::string name = options->within;
  if (name.empty()) name = LeaseOfAll(*jobs);
  if (name.empty()) return std::optional<v1::Lease>();
  if (const std::optional<int64_t> seconds = base::ParseDuration(name)) {
    if (!options->dry_run) {
      return base::Error{base::Code::kInvalid,
                         "--within " + name + " is a time: add --dry-run, or name a lease"};
    }
    options->within_seconds = seconds;
    return std::optional<v1::Lease>();
  }
  for (job::JobSpec& job : *jobs) job.resources.lease = name;
  return AskForLease(context, name, options);
}

void KeepToLease(const v1::Lease& lease, Assessment* assessment) {
  std::erase_if(assessment->candidates, [&](const SiteWorker& worker) {
    return std::ranges::count(lease.workers(), worker.name) == 0;
  });
}

void SayWhetherItFits(Context& context, const std::vector<Assessment>& assessments,
                      const SubmitOptions& options) {
  const LabTime lab = PredictLab(assessments, options.max_parallel);
  if (lab.experiments == 0) {
    context.err << "note: whether it fits what is left of the lease ("
                << base::FormatDuration(*options.within_seconds)
                << ") is not known: its time could not be predicted" << std::endl;
    return;
  }
  context.err << "note: " << LabText(lab, options.within_seconds)
              << (Fits(lab, *options.within_seconds)
                      ? ""
                      : ": what has not ended by then saves and ends as LEASE_ENDED")
              << std::endl;
}

}  // namespace trainctl::client
