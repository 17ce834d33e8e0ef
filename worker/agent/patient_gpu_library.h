// A driver that hangs holds whoever calls it, in the kernel and for ever. This library calls
// another one on a thread that is given up: each answer is waited for a bounded time, and while one
// is overdue nothing more is asked. Not thread-safe, as its kind.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "worker/agent/gpu_library.h"

namespace trainctl::agent {

using OpenGpuLibrary = std::function<base::Result<std::unique_ptr<GpuLibrary>>()>;

struct DriverPatience {
  std::chrono::milliseconds opening{20'000};
  std::chrono::milliseconds answer{1000};
};

// What `open` gives, behind such a thread. Its errors; kUnavailable: no answer within the patience.
// The other library is made, called and destroyed on that thread, or left where it hangs.
base::Result<std::unique_ptr<GpuLibrary>> OpenPatiently(OpenGpuLibrary open,
                                                        DriverPatience patience = {});

}  // namespace trainctl::agent
