// A job out of a tree that has nothing but keys of a job, with values as they are expected. Most of
// what is stored is such. That is read some times faster than by bind_job.h, and the same comes of
// it.
#pragma once

#include <optional>

#include "common/job/job.h"
#include "common/json/json_node.h"

namespace trainctl::job {

// Types and ranges only. nullopt: the tree has something else, or a fault, which JobBinder names.
std::optional<JobSpec> FromKnownKeys(const JsonNode& root);

}  // namespace trainctl::job
