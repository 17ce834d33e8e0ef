// Versions of what the rank computes with, for --version and the record of each run.
#pragma once

#include <string>

namespace trainctl::train {

std::string LibTorchVersion();  // "2.11.0"
std::string NcclVersion();      // "2.28.9"

}  // namespace trainctl::train
