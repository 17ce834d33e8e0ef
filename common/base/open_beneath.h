// Opening what lies in a folder that is open already, wherever links of others lead meanwhile.
#pragma once

#include <string>

#include "common/base/descriptor.h"

namespace trainctl::base {

// path: relative. Neither a link is followed nor is anything opened above the folder: errno is
// ELOOP or EXDEV then. flags: as of open(). Not open: errno says why. Thread-safe.
Descriptor OpenBeneath(const Descriptor& folder, const std::string& path, int flags);

}  // namespace trainctl::base
