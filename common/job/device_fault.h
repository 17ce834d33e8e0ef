// Faults of a GPU by the numbers that its driver gives them: XIDs. Whose fault each is follows
// NVIDIA's "XID Errors" (https://docs.nvidia.com/deploy/xid-errors/). ECC errors, memory that waits
// for a reset, and a lost GPU have the XID that says the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/clock.h"

namespace trainctl::job {

enum class FaultClass {
  kApplication,  // an error of the program that ran there
  kSuspect,      // the device may go on, once it has been clean for a while
  kBad           // it needs a reset, or hands
};
std::string_view Name(FaultClass fault_class);  // "application", "suspect", "bad"

inline constexpr int64_t kXidDoubleBitError = 48;
inline constexpr int64_t kXidRowsWaitForReset = 63;
inline constexpr int64_t kXidRowsNotReplaced = 64;
inline constexpr int64_t kXidOffTheBus = 79;

struct DeviceFault {
  int64_t xid = 0;
  base::WallMicros at = 0;  // by its host's clock, the last time; no two of a worker have the same
  bool operator==(const DeviceFault&) const = default;
};

// A suspect device is used again once it has had no fault for so long.
inline constexpr int64_t kCleanMicros = 600'000'000;

// As many are told of one device, each XID once.
inline constexpr size_t kMaxFaults = 16;

// What is not in NVIDIA's list makes a device suspect.
FaultClass ClassOf(int64_t xid);
std::string_view MeaningOf(int64_t xid);  // "the GPU has fallen off the bus"
std::string XidText(int64_t xid);         // "XID 79 (the GPU has fallen off the bus)"

}  // namespace trainctl::job
