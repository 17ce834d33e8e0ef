// How jobs that ran are run again. Pure.
#pragma once

#include <string>

#include "proto/trainctl.pb.h"

namespace trainctl::client {

// "trainctl submit job.json --output.dir DIR", with a new DIR where there is one. What a job has
// written belongs to it, so that the same folder would be refused.
std::string RunAgainCommand(const std::string& file, const v1::GetResponse& jobs);

// The resolved job, or all jobs as one lab file. What this program can't read stays as it is.
std::string RunAgainFile(const v1::GetResponse& jobs);

// One job, as it would be written by hand.
std::string JobFileText(const v1::JobDetail& detail);

}  // namespace trainctl::client
