// Keeps this process to what its host lets the job's owner read and write (file_fence.h).
#pragma once

#include <string>

#include "common/base/file_roots.h"
#include "common/base/result.h"
#include "worker/rank/data/cache_folders.h"

namespace trainctl::data {

// The cache folders, and a scratch folder if one is named, stay open beside the roots. Before any
// other thread is there, and before a file of the job is opened. kIo: the kernel refused.
base::Status EncloseJob(const base::FileRoots& roots, const CacheFolders& caches,
                        const std::string& scratch = "");

}  // namespace trainctl::data
