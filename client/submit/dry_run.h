// What submit --dry-run prints: whether and where it would run comes first, on one page.
#pragma once

#include <vector>

#include "client/context.h"
#include "client/submit/assessment.h"
#include "client/submit/submission.h"

namespace trainctl::client {

// Returns the exit code: kExitWouldNotRun where this site refuses a job, or it does not fit the
// time. site_known: the coordinator answered.
int ShowDryRun(Context& context, const std::vector<Assessment>& assessments, bool site_known,
               const SubmitOptions& options);

}  // namespace trainctl::client
