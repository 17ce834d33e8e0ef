// Whether an output.dir overlaps that of a job which has not ended. The coordinator decides it
// again at submit; here it is for a dry run, which asks nobody to decide.
#pragma once

#include <vector>

#include "client/context.h"
#include "client/submit/assessment.h"

namespace trainctl::client {

// Adds to site_problems. Asks the coordinator only if a job writes output.
void RefuseClaimedFolders(Context& context, std::vector<Assessment>* assessments);

}  // namespace trainctl::client
