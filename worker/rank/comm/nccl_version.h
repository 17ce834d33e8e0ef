// The NCCL that is loaded, for --version and the record of each run.
#pragma once

#include <string>

namespace trainctl::comm {

std::string NcclVersion();  // "2.28.9"

}  // namespace trainctl::comm
