// Taking output.dir for this job (common/job/output_folder.h).
#pragma once

#include "common/base/result.h"
#include "common/rank/rank_plan.h"

namespace trainctl::files {

// Makes the folder where it is missing, and makes this job its owner, unless it is. Of two jobs
// that try at once one succeeds. An owner file that a crash has damaged is made anew by a later
// attempt: the job has had the folder. Errors: kConflict (whose the folder is, and what to do),
// kIo, kInvalid.
base::Status TakeOutput(const job::RankPlan& plan);

// Before each writing: the folder is still this job's. Errors as above.
base::Status CheckOwnsOutput(const job::RankPlan& plan);

// Before a rank writes a file of its own: the folder is not another job's. On a host that rank 0
// does not share it may have no owner. Errors as above.
base::Status CheckNoOtherOwnsOutput(const job::RankPlan& plan);

}  // namespace trainctl::files
