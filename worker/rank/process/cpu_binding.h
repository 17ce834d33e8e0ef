// The rank keeps to its share of the host's CPUs.
#pragma once

#include <string>

namespace trainctl::train {

// Binds this thread, and all that it starts later, to the CPUs: "0-7,16" (common/rank/cpu_list.h).
// Memory that they touch first is then near to them. Empty: nothing is bound. A refusal of the
// operating system is ignored: the threads run wherever they may.
void BindToCpus(const std::string& cpus);

}  // namespace trainctl::train
