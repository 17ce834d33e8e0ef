// trainctl as a function: finds the verb, its arguments and the coordinator, runs it, and returns
// the exit code.
#pragma once

#include <string>
#include <vector>

#include "client/context.h"

namespace trainctl::client {

// `words` without the program's own name. Options that every verb has (--server, -o) may stand
// before the verb too.
int RunProgram(const std::vector<std::string>& words, const Surroundings& surroundings);

}  // namespace trainctl::client
