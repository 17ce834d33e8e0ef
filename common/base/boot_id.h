// Which boot of this host it is. Steady times are comparable within one.
#pragma once

#include <string>

namespace trainctl::base {

// Of the running kernel: changes with every boot. Empty where /proc is not there. Thread-safe.
std::string BootId();

}  // namespace trainctl::base
