// A name that nobody else has made: of a process, or of a request. Thread-safe.
#pragma once

#include <string>

namespace trainctl::base {

// 32 hexadecimal digits of the system's randomness.
std::string RandomName();

}  // namespace trainctl::base
