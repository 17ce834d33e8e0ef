// How much memory this host can still give.
#pragma once

#include <cstdint>

namespace trainctl::train {

// What the kernel calls available, or what is left of the control group's limit where that is less. 0: not known.
int64_t AvailableHostBytes();

}  // namespace trainctl::train
