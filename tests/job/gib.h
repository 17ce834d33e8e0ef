// Bytes of a GiB, in which tests name sizes.
#pragma once

#include <cstdint>

namespace trainctl::job {

inline constexpr int64_t kGiB = int64_t{1} << 30;

}  // namespace trainctl::job
