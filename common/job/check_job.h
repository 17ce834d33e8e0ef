// The pure check of a whole job: what is asked must be runnable in principle, anywhere. Whether
// this site can run it is site.h's. Whoever takes a job from outside calls it (ReadJobFile does);
// FromJson alone checks types and ranges only. Thread-safe.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "common/job/job.h"
#include "common/json/problem.h"

namespace trainctl::job {

// All problems at once: ranges, names, indivisible batches (with the nearest that work),
// combinations that make no sense, constraints that are none. Paths are keys
// ("train.global_batch_size"); lines are 0.
std::vector<Problem> CheckJob(const JobSpec& job);

// What is allowed and may surprise: settings that have no effect, nothing kept, a warm-up that
// outlasts max_steps. One sentence each.
std::vector<std::string> NotesOn(const JobSpec& job);

inline constexpr size_t kLongestName = 128;  // of a job, in bytes

// A job's name has 1 … kLongestName bytes without control characters and '/'. It has not an id's
// form (j12, g3), since commands take ids and names alike.
bool IsUsableName(std::string_view name);

// The job as it will run: strategy auto becomes single on one device and ddp on more. Nothing else
// changes; resolving twice is resolving once.
JobSpec ResolveJob(JobSpec job);

}  // namespace trainctl::job
