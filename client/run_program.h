// Other programs: run to their end, or gone on as.
#pragma once

#include <string>
#include <vector>

#include "client/context.h"

namespace trainctl::client {

// command[0] is a path. kNotFound: no such file. kIo: it could not be started. Ended by signal n:
// exit code 128 + n. Safe beside gRPC's threads (posix_spawn). input must fit a pipe's buffer (64
// KiB), as a job does; what does not fit is an error (kExhausted).
base::Result<ProgramOutput> RunToEnd(const std::vector<std::string>& command,
                                     const std::string& input);

// The process becomes the program; stdin, stdout and stderr stay. Returns only why it can't.
base::Error Become(const std::vector<std::string>& command);

}  // namespace trainctl::client
