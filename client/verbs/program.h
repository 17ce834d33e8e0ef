// trainctl as a function: finds the verb, its arguments and the coordinator, runs it, and returns
// the exit code.
#pragma once

#include <string>
#include <vector>

#include "client/arguments.h"
#include "client/context.h"
#include "client/verbs/verb.h"

namespace trainctl::client {

// `words` without the program's own name. Options that every verb has (--server, -o) may stand
// before the verb too.
int RunProgram(const std::vector<std::string>& words, const Surroundings& surroundings);

// What `trainctl --help` prints, and what a verb's --help tells.
std::string Overview();
VerbHelp HelpOf(const VerbRow& row);

}  // namespace trainctl::client
