// Names of the ranges of a step that a trace shows, and that summaries know (kind_of_name.h).
#pragma once

namespace trainctl::profile {

inline constexpr const char* kStepRange = "step ";  // with the step's number
inline constexpr const char* kDataRange = "data";
inline constexpr const char* kForwardRange = "forward";
inline constexpr const char* kBackwardRange = "backward";
inline constexpr const char* kAttentionRange = "attention";
inline constexpr const char* kOptimizerRange = "optimizer";
inline constexpr const char* kCollectiveRange = "collective";  // the host waits for it

}  // namespace trainctl::profile
