// Ctrl-C ends trainctl at once, and says first what goes on without it. Used by main.cc only: it
// changes the process's signal handling.
#pragma once

#include <string>

namespace trainctl::client {

// From now on SIGINT writes the words (where there are any) to stderr and exits with kExitDetached.
void InstallFarewell();

// At most 500 bytes of it. Empty: nothing is said.
void SetFarewell(const std::string& words);

}  // namespace trainctl::client
