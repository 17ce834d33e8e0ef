// What trainctl's exit status means: a contract with scripts.
#pragma once

#include "common/base/result.h"

namespace trainctl::client {

enum ExitCode : int {
  kExitOk = 0,           // also: the job ended as its "expect" says
  kExitFailure = 1,      // trainctl or the coordinator failed
  kExitUsage = 2,        // wrong arguments, or an invalid job file
  kExitNotFound = 3,     // no such job, group, file
  kExitWouldNotRun = 4,  // a dry run: it would be refused here, or does not fit --within
  kExitUnreachable = 5,  // the coordinator does not answer, or none is known
  kExitDenied = 6,       // the site does not allow it to this user
  // Of wait and submit --wait:
  kExitJobFailed = 10,    // failed, or an expectation was not met
  kExitOutOfMemory = 11,  // of the GPU or the host
  kExitCancelled = 12,
  kExitDiverged = 13,   // the loss was not a number any more
  kExitTimeLimit = 14,  // the job met its time_limit
  kExitTimeout = 124,   // --timeout passed: the jobs go on
  kExitDetached = 130,  // Ctrl-C, as shells expect it; jobs go on
};

inline int ExitCodeOf(base::Code code) {
  switch (code) {
    case base::Code::kInvalid: return kExitUsage;
    case base::Code::kNotFound: return kExitNotFound;
    case base::Code::kUnavailable: return kExitUnreachable;
    case base::Code::kDenied: return kExitDenied;
    case base::Code::kExhausted:
    case base::Code::kConflict:
    case base::Code::kIo:
    case base::Code::kInternal: return kExitFailure;
  }
  return kExitFailure;
}

}  // namespace trainctl::client
