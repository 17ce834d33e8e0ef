// The job that owns the output.dir of another, as this site knows it now. That says whether the
// folder may be written to, and what can be done where it may not.
#pragma once

#include "client/context.h"
#include "client/submit/assessment.h"

namespace trainctl::client {

// Refuses a folder in which nothing is yet, and whose job goes on. Of one that is refused already
// it says whether its job can be resumed, and how the folder comes free. The coordinator refuses
// both as well; here it is for a dry run. Asks it only about an owner of this site.
void CheckFolderOwner(Context& context, const Site& site, Assessment* assessment);

}  // namespace trainctl::client
