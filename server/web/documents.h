// What pages ask for beside the records that the command line has too: other ways to run a job, its
// memory, and which metrics have curves. Pure.
#pragma once

#include "common/record/document.h"
#include "proto/trainctl.pb.h"
#include "server/coordinator/job_advice.h"

namespace trainctl::web {

// {"name", "device", "devices", "devices_left_out": {why: number}, "considered", "limit_bytes",
// "asked": way, "front": [way], "fitting": [[seconds, bytes, measured]],
// "excluded": [{"reason", "ways", "least_peak_bytes" where that is known}]}. A way is a WayRecord
// with "peak_by_kind": [{"kind", "label", "bytes"}]. The one asked has "refused" too: why it can't
// be taken, or null.
record::Json AdviceDocument(const coordinator::JobAdvice& advice);

// {"rows", "limit_bytes"}: a row is a MemoryRecord with "label" and "is_part" of its kind. The
// limit is the job's own, or the smallest device's that it ran on; null: not known.
record::Json MemoryDocument(const v1::JobDetail& detail, const v1::WorkersResponse& site);

// {"metrics": [{"name", "label", "unit", "section"}, …], "charts": [{"title", "metrics": [name]},
// …]}: metrics in the order of job::Metrics(), charts in that of a job's page. section: where
// compare shows it; "": nowhere.
record::Json MetricsDocument();

}  // namespace trainctl::web
