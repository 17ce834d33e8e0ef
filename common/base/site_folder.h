// Folders in which programs of a site keep their own files: the coordinator's, and each worker's.
// They are known by their lock files. What a job writes or removes there would break the site.
// Thread-safe.
#pragma once

#include <string>

#include "common/base/result.h"

namespace trainctl::base {

inline constexpr const char* kCoordinatorLock = "coordinator.lock";
inline constexpr const char* kWorkerLock = "worker.lock";

// kDenied: the path, all links followed, is such a folder, lies within one, or holds one few levels
// deep. The message names both. A path need not be there yet. May block where a mount hangs.
Status CheckNoSiteFolder(const std::string& path);

}  // namespace trainctl::base
