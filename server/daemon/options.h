// The command line of traincoordinator.
#pragma once

#include <optional>
#include <string>

#include "server/auth/unix_policy.h"
#include "server/auth/user_bounds.h"

namespace trainctl::coordinator {

struct Options {
  std::string listen = "127.0.0.1:7070";
  std::string directory;     // of the database and the logs
  std::string address_file;  // empty: none
  std::string dashboard;     // HOST:PORT; empty: none is served
  std::string dashboard_file;
  auth::UnixPolicy policy;
  auth::UserBounds bounds;
};

// Of main's arguments. nullopt: nothing to run, the process ends with *exit_code: help and version
// were printed to stdout (0), or the fault to stderr (2). CLI11's exceptions end here.
std::optional<Options> ParseOptions(int argc, const char* const* argv, int* exit_code);

}  // namespace trainctl::coordinator
