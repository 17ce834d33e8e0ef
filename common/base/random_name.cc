#include "common/base/random_name.h"

#include <cstdio>
#include <random>

namespace trainctl::base {

std::string RandomName() {
  std::random_device random;
  std::string name;
  for (int i = 0; i < 4; ++i) {
    char part[9];
    std::snprintf(part, sizeof part, "%08x", random());
    name += part;
  }
  return name;
}

}  // namespace trainctl::base
