#include "common/advice/reduction_limit.h"

#include "common/estimate/fit.h"

namespace trainctl::advice {

std::optional<int64_t> LimitThatReduces(const job::MemoryEstimate& estimate) {
  if (!estimate.holds_gradients.value_or(false) || estimate.holding_bytes <= 0) return std::nullopt;
  const int64_t held = estimate.peak_allocated, reduced = held - estimate.holding_bytes;
  const auto too_small = static_cast<int64_t>(static_cast<double>(held) / job::kSafeShare);
  for (const int64_t unit : {int64_t{1} << 30, int64_t{1} << 20}) {
    int64_t limit = too_small / unit * unit;
    if (job::FitsSafely(held, limit)) limit -= unit;
    if (limit > 0 && job::FitsSafely(reduced, limit)) return limit;
  }
  return std::nullopt;
}

}  // namespace trainctl::advice
