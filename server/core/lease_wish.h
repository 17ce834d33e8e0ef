// Which leases may be made, and when: pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "server/core/leases.h"

namespace trainctl::core {

constexpr int64_t kShortestLeaseUs = 120'000'000;
constexpr int64_t kFarthestLeaseUs = int64_t{366} * 86'400 * 1'000'000;  // from now to its start

struct LeaseWish {
  int64_t devices = 1;
  std::string host;            // empty: any
  std::string user;            // whose it will be
  std::string model;           // part of the devices' name ("h200"), in any case; empty: any
  base::WallMicros start = 0;  // 0: now; of FindBlock: not before
  int64_t length_us = 0;
};

// When a lease could have which devices.
struct LeaseBlock {
  base::WallMicros start = 0;
  std::vector<std::string> workers;
};

// The lease that is wished, still without a number. kInvalid: the site never has such devices, it
// is too long, in the past, its name is not one. kConflict: the name is taken, or too few devices
// are free of leases then. kExhausted: max_leases, or the user's quota.
base::Result<LeaseRow> NewLease(const State& state, const LeaseWish& wish, const std::string& name,
                                const Now& now);
// The first whole minute at which the lease could begin within the user's quota: from wish.start
// on, and within a year. Errors as NewLease's.
base::Result<LeaseBlock> FindBlock(const State& state, const LeaseWish& wish, const Now& now);
struct LeaseExtension {
  int64_t more_us = 0;
  base::WallMicros end_was = 0;  // the end that is moved; 0: whichever it is
};

// The lease's end, so much later; the one that it has, where it was moved so before. kInvalid: it
// would be too long. kConflict: it does not end at `end_was`; another lease has one of its
// devices then; or it is about to end. kExhausted: the user's quota.
base::Result<base::WallMicros> LaterEnd(const State& state, const Lease& lease,
                                        const LeaseExtension& asked);

}  // namespace trainctl::core
