// The rights of a job's owner to files of this host. Whoever runs a rank can record any file as
// saved by it: so what was saved is read and removed with the owner's rights, where ranks have
// them.
#pragma once

#include <string>

#include "common/base/result.h"
#include "common/job/host_rules.h"

namespace trainctl::agent {

// The calling thread has them from then on, for good; where ranks run as the worker's user nothing
// changes. kInvalid: nobody knows whose it is. kDenied: there is no such account. kIo.
base::Status TakeRightsOf(const std::string& owner, const job::HostRules& rules);

}  // namespace trainctl::agent
