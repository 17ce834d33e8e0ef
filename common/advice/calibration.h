// Times that earlier runs took and times from a device's rates, put on one footing. Pure,
// thread-safe.
#pragma once

#include "common/advice/way.h"

namespace trainctl::advice {

// Runs may take half as long again as rates say, and then so do their siblings. A step from rates
// is scaled by what runs took over what rates say, of the nearest ways that ran. Nearest: with
// fewest settings changed, where each doubling of devices or of the micro batch is one. Of several
// as near it is the geometric mean. Runs that other work slowed scale nothing. A
// way that has only these takes its scaled time from rates, unless they took less.
void Calibrate(Ways* ways);

}  // namespace trainctl::advice
