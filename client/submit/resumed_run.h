// Whether the job that another goes on from has steps left. The coordinator decides it again at
// submit; here it is for a dry run and an early word.
#pragma once

#include <optional>
#include <string>

#include "client/context.h"
#include "common/base/result.h"
#include "common/job/job.h"
#include "common/job/resumed_run.h"

namespace trainctl::client {

// Where the checkpoints are that a job goes on from after this one: its own, or, of a job that
// ended before its first one, those that it had itself gone on from. nullopt: there are none.
std::optional<std::string> ResumeFolder(const v1::JobDetail& detail, const job::JobSpec& job);

// Of a job that has ended. kInvalid: its stored job file can't be read.
base::Result<job::ResumedRun> ReadResumedRun(const v1::JobDetail& detail);

// Of checkpoint.resume_job: asks the coordinator only about a job that goes on from another.
// nullopt: it does not, or that one is not known, has not ended, or can't be read.
std::optional<job::ResumedRun> FindResumedRun(Context& context, const job::JobSpec& job);

}  // namespace trainctl::client
