// What submit --dry-run prints: whether and where it would run comes first, on one page.
#pragma once

#include <optional>
#include <vector>

#include "client/context.h"
#include "client/submit/assessment.h"
#include "client/submit/submission.h"

namespace trainctl::client {

struct Forecast {
  const std::vector<Assessment>& assessments;
  const std::vector<Variant>& variants;            // of a sweep: one a job
  bool site_known = false;                         // the coordinator answered
  v1::LeasesResponse leases = {};                  // of the site; none where they are not known
  std::optional<v1::Lease> within = std::nullopt;  // of all of them
};

// Returns the exit code: kExitWouldNotRun where this site refuses a job, or it does not fit the
// time.
int ShowDryRun(Context& context, const Forecast& forecast, const SubmitOptions& options);

}  // namespace trainctl::client
