// Starts a process without forking this one, which holds gRPC's threads: posix_spawn(3). The child
// leads a session of its own, and has default signals and stdin from /dev/null. It inherits no
// descriptor but those named here: all of this process's are close-on-exec.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "common/base/result.h"

namespace trainctl::agent {

struct SpawnOptions {
  std::vector<std::string> arguments;    // [0] is the program: a path, or a name that PATH finds
  std::vector<std::string> environment;  // NAME=value
  int input_fd = -1;                     // stdin; -1: /dev/null
  int output_fd = -1;                    // stdout and
  int error_fd = -1;                     // stderr; -1: both are appended to output_path
  std::string output_path;
};

// kNotFound: no such program. kIo: the operating system refused.
base::Result<pid_t> Spawn(const SpawnOptions& options);

// base with the additions; an addition replaces the entry of the same name.
std::vector<std::string> WithVariables(std::vector<std::string> base,
                                       const std::vector<std::string>& additions);

}  // namespace trainctl::agent
