#include "tests/checkout.h"

namespace trainctl::checkout {

std::string File(const std::string& path_below_the_checkout) {
  return TRAINCTL_SOURCE_DIR "/" + path_below_the_checkout;
}

std::string Program(const std::string& name) { return TRAINCTL_BINARY_DIR "/bin/" + name; }

std::string TestProgram(const std::string& name) { return TRAINCTL_BINARY_DIR "/tests/" + name; }

}  // namespace trainctl::checkout
