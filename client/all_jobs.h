// Lists that are longer than one answer of the coordinator.
#pragma once

#include <vector>

#include "client/api.h"

namespace trainctl::client {

// All jobs that pass, newest first, however many. Errors of Api::List.
base::Result<std::vector<v1::JobView>> ListAllJobs(Api& api, v1::ListRequest request);

}  // namespace trainctl::client
