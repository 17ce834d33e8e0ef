// Whether a GPU on which the driver lists no process is free, judged by its used memory: back at
// what it uses when idle (driver, display). Processes of other containers may not be listed, and
// the memory of ended ones comes back late. Pure; the baseline is what a worker keeps across its
// restarts.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

namespace trainctl::agent {

class IdleBaseline {
 public:
  // An idle GPU uses less than this; more at the first look means that somebody is on it.
  static constexpr int64_t IdleCeiling(int64_t total_bytes) {
    return std::max<int64_t>(int64_t{2} << 30, total_bytes / 32);
  }
  static constexpr int64_t kToleranceBytes = int64_t{256} << 20;

  // stored: what an earlier worker of this boot saw; nullopt: nothing was stored.
  IdleBaseline(int64_t total_bytes, std::optional<int64_t> stored)
      : ceiling_(IdleCeiling(total_bytes)), baseline_(stored) {}

  // Of a moment at which no rank of ours is on the GPU: true where nobody else is either. Learns
  // the baseline, and a lower one later.
  bool IsIdle(int64_t used_bytes) {
    if (!baseline_ && used_bytes > ceiling_) return false;
    if (!baseline_ || used_bytes < *baseline_) baseline_ = used_bytes;
    return used_bytes <= *baseline_ + kToleranceBytes;
  }

  std::optional<int64_t> baseline() const { return baseline_; }

 private:
  int64_t ceiling_;
  std::optional<int64_t> baseline_;
};

}  // namespace trainctl::agent
