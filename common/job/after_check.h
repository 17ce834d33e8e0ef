// What is wrong with a job that another is to follow: resources.after. Pure.
#pragma once

#include <string>

#include "common/job/job.h"
#include "common/job/outcome.h"
#include "common/json/problem.h"

namespace trainctl::job {

// "j12" is no job of this site.
Problem NothingToFollow(const std::string& name);

// That job has ended so, and the other one would never start.
Problem NeverToFollow(const std::string& name, Outcome outcome);

// Whether a job that goes on `after` an ended one may start. ended_ok: that one SUCCEEDED, or ended
// as its file expects.
bool MayFollow(After after, bool ended_ok);

}  // namespace trainctl::job
