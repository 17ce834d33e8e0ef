// What a profiler saw: one span of time on the host or on the device. Times are nanoseconds of one
// clock.
#pragma once

#include <cstdint>
#include <string>

namespace trainctl::profile {

enum class Source {
  kRange,     // a part of the program that bears a name: "forward", "step 12"
  kOperator,  // of LibTorch, on the host
  kLaunch,    // a call of CUDA that gave the device work
  kKernel,    // on the device
  kCopy,      // a copy or fill on the device
};

struct TraceEvent {
  Source source = Source::kKernel;
  std::string name;
  int64_t begin = 0;
  int64_t end = 0;
  uint64_t thread = 0;       // of events on the host
  uint64_t correlation = 0;  // equal for a launch and what it launched; 0: none
};

constexpr bool IsOnDevice(Source source) {
  return source == Source::kKernel || source == Source::kCopy;
}

}  // namespace trainctl::profile
