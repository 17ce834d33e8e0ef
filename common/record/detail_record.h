// Everything about a job as a record of the contract: what describe prints for scripts.
#pragma once

#include "common/record/document.h"
#include "proto/trainctl.pb.h"

namespace trainctl::record {

// JobRecord's members, then "job", "inspection", "prediction" as the coordinator stored them (null:
// none), "prediction_errors" (foresight.h), "attempts", "events", "continuations", "text_steps" and
// "summaries". The texts are those that were asked for; the steps are of all that are kept.
Json DetailRecord(const v1::JobDetail& detail);

}  // namespace trainctl::record
