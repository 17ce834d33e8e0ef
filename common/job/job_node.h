// A job as a JSON tree: what messages that carry a job are made of. The text form is job_json.h.
#pragma once

#include "common/base/result.h"
#include "common/job/job.h"
#include "common/json/json_node.h"

namespace trainctl::job {

// Every key, in the schema's order.
JsonNode ToNode(const JobSpec& job);

// Types and ranges only. kInvalid lists the problems.
base::Result<JobSpec> FromNode(const JsonNode& root);

}  // namespace trainctl::job
