// Reads what ranks on this host have saved, for the coordinator, which keeps their record of it
// (common/base/saved_folder.h). No other file is served, and none of a folder that another has
// replaced.
#pragma once

#include "common/base/result.h"
#include "common/job/host_rules.h"
#include "common/rank/artifact.h"
#include "worker/agent/file_threads.h"

namespace trainctl::agent {

// kInvalid: there is no record, the offset is negative, or the owner's jobs don't run here.
// kDenied: it lies outside of what they may read. kNotFound: no such file was saved, or it is gone.
// kConflict: something else stands in its place. kIo. Blocks. Where ranks run as their owners, the
// calling thread has the owner's rights to files from then on.
base::Result<job::ArtifactPiece> ReadArtifact(const job::ArtifactQuestion& question,
                                              const job::HostRules& rules = {});

using ArtifactReader = FileThreads<job::ArtifactQuestion, job::ArtifactPiece>;

}  // namespace trainctl::agent
