// The programs that read what `trainctl export` writes for them: the Python of
// `tests/oracles trackers`.
#pragma once

#include <string>

namespace trainctl::client {

// Its interpreter; empty where the environment is not made.
std::string TrackersPython();

// What the script of tests/client prints about the folder. A failure is printed too.
std::string PrintedBy(const std::string& python, const std::string& script,
                      const std::string& folder);

}  // namespace trainctl::client
