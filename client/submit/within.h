// Jobs under a lease: which it is, and whether they fit what is left of it.
#pragma once

#include <optional>
#include <vector>

#include "client/context.h"
#include "client/submit/assessment.h"
#include "client/submit/submission.h"

namespace trainctl::client {

// Reads options->within. A time, only of a dry run, becomes within_seconds. A lease is then named
// by all of the jobs. Without it the lease that all of the jobs name. Of a lease within_seconds
// becomes what is left of it for jobs, from its start or from now. kInvalid, kNotFound, NeedApi's.
base::Result<std::optional<v1::Lease>> FindWithin(Context& context, std::vector<job::JobSpec>* jobs,
                                                  SubmitOptions* options);

// How long somebody may still run, and on which devices.
struct Stretch {
  int64_t seconds = 0;
  std::optional<v1::Lease> lease;  // none: a time was named
};
// Of `within`, a lease's name or a time. Empty: of the user's own lease that is active, else of the
// next; nullopt where there is none, or nobody can say. kNotFound: no lease has the name.
base::Result<std::optional<Stretch>> FindStretch(Context& context, const std::string& within,
                                                 const std::string& user);

// The site as a job under the lease has it: with the lease's devices alone.
Site OnlyLeased(const v1::Lease& lease, const Site& site);

// Refuses what was assessed with them where the lease is too small, or too late. So it does an
// exclusive job, where the lease has no whole host of this site, the whole one.
void CheckLease(const v1::Lease& lease, const Site& site, Assessment* assessment);

// "2h 10min predicted for 14 experiments on 4 devices; fits 2h 59min 30s", and what becomes of the
// rest where it does not.
void SayWhetherItFits(Context& context, const std::vector<Assessment>& assessments,
                      const SubmitOptions& options);

}  // namespace trainctl::client
