// What is stored of the job that a submitted one is to go on from.
#pragma once

#include <optional>

#include "common/base/result.h"
#include "common/job/resumed_run.h"
#include "server/store/reader.h"

namespace trainctl::coordinator {

// Of checkpoint.resume_job. nullopt: the job goes on from none, or that one is not known here, has
// not ended, or can't be read. kIo.
base::Result<std::optional<job::ResumedRun>> FindResumedRun(store::Reader& reader,
                                                            const job::JobSpec& job);

}  // namespace trainctl::coordinator
