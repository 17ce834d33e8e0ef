// What is stored of the job that a submitted one is to go on from, or whose model it uses.
#pragma once

#include <optional>

#include "common/base/result.h"
#include "common/job/resumed_run.h"
#include "server/auth/caller.h"
#include "server/store/reader.h"

namespace trainctl::coordinator {

// Of checkpoint.resume_job. nullopt: the job goes on from none, or that one is not known here, has
// not ended, or can't be read. kIo.
base::Result<std::optional<job::ResumedRun>> FindResumedRun(store::Reader& reader,
                                                            const job::JobSpec& job);

// Whether the caller may go on from checkpoint.resume_from and resume_job. kDenied: they are
// another user's, by the job that is named or by the output.dir that the folder is in. kInvalid: a
// folder that is relative, so nobody's. kIo.
base::Status CheckResumed(store::Reader& reader, const job::CheckpointSpec& checkpoint,
                          const auth::Caller& caller);

// Whether the caller may have texts continued by the model at model.path, of a job that does not
// train. kDenied: it is in another user's output.dir, and so an artifact of theirs. kIo.
base::Status CheckModelRead(store::Reader& reader, const job::JobSpec& job,
                            const auth::Caller& caller);

}  // namespace trainctl::coordinator
