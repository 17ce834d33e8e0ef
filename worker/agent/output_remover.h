// Removes from a job's output.dir on this host what the job has saved there
// (common/base/saved_folder.h): files that are still as they were recorded. What its attempts left
// unfinished goes too, by its names (common/rank/run_names.h). Then go empty folders,
// and its owner file. That one stays while something that runs write is there. What was changed
// since, and what others have put there, stays and is named. Nothing is reached through a
// link in the folder, and nothing in a folder that another job owns.
#pragma once

#include "common/base/result.h"
#include "common/job/host_rules.h"
#include "common/rank/output_removal.h"
#include "worker/agent/file_threads.h"

namespace trainctl::agent {

// A folder that is gone has nothing of the job, which is no error. kInvalid: a record is damaged,
// or the owner's jobs don't run here. kDenied: the folder lies outside of what they may write, or
// is of the site itself (common/base/site_folder.h). kConflict: another job owns it. kIo: something
// can't be looked at or removed; what was removed before that is gone, and the same question
// removes the others. Blocks. Where ranks run as their owners, the calling thread has the owner's
// rights to files from then on.
base::Result<job::RemovalAnswer> RemoveOutputs(const job::RemovalQuestion& question,
                                               const job::HostRules& rules = {});

using OutputRemover = FileThreads<job::RemovalQuestion, job::RemovalAnswer>;

}  // namespace trainctl::agent
