// The shim's command line.
#pragma once

#include <string>
#include <variant>

#include "common/base/result.h"
#include "worker/shim/shim.h"

namespace trainctl::shim {

// Text to print for --help and --version.
struct Information {
  std::string text;
};

// kInvalid: what is wrong with the command line.
base::Result<std::variant<ShimOptions, Information>> ParseOptions(int argc,
                                                                  const char* const* argv);

}  // namespace trainctl::shim
