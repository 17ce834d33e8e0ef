// Counts as people read them. Pure, thread-safe.
#pragma once

#include <cstdint>
#include <string>

#include "common/base/size.h"

namespace trainctl::base {

// "1 row", "1,234 rows".
inline std::string Plural(int64_t count, const std::string& noun) {
  return WithThousands(count) + " " + noun + (count == 1 ? "" : "s");
}

}  // namespace trainctl::base
