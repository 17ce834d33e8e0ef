// Other ways to run a job, for the picture of time over memory.
#pragma once

#include "common/record/document.h"
#include "server/coordinator/job_advice.h"

namespace trainctl::web {

// {"name", "device", "devices", "considered", "limit_bytes", "asked": way, "front": [way],
// "fitting": [[seconds, bytes]], "excluded": [{"reason", "ways"}]}. A way is {"overrides",
// "devices", "total_seconds", "step_seconds", "earlier_runs", "peak_allocated_bytes"}; its times
// are null where they are not known.
record::Json AdviceDocument(const coordinator::JobAdvice& advice);

}  // namespace trainctl::web
