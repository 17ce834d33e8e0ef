#include "common/rank/disturbance.h"

#include <algorithm>
#include <iterator>

#include "common/job/device.h"
#include "common/rank/reduction.h"

namespace trainctl::job {
namespace {

// A host is saturated from here on.
constexpr double kSaturatedPercent = 95;
// Of its slot's threads a rank uses more than this, where nothing else keeps it from them.
constexpr double kOwnShare = 0.7;

// In %, where it is saturated.
std::optional<double> Saturation(const HostUse& use) {
  const std::optional<RunValue> cpu = Reduce(Metric::kHostCpu, use.metrics);
  return cpu && cpu->value >= kSaturatedPercent ? std::optional(cpu->value) : std::nullopt;
}

// Of what its slot's threads could do, the share that a rank on CPU slots did. nullopt: not known.
std::optional<double> ShareOfSlot(const HostUse& use) {
  const std::optional<int64_t> threads = ThreadsOfCpuSlot(use.device_name);
  const std::optional<RunValue> cpu = Reduce(Metric::kRankCpu, use.metrics);
  if (!threads || *threads < 1 || !cpu) return std::nullopt;
  return cpu->value / (100.0 * static_cast<double>(*threads));
}

// Ranks on CPU slots use their host up themselves. So may a run that has it to itself.
bool ExplainsItsLoad(const HostUse& use) {
  if (const std::optional<double> share = ShareOfSlot(use)) return *share >= kOwnShare;
  return use.exclusive || ThreadsOfCpuSlot(use.device_name).has_value();
}

}  // namespace

std::vector<Neighbour> SharedWith(const HostUse& use) {
  const bool is_saturated = Saturation(use).has_value();
  std::vector<Neighbour> shared;
  std::ranges::copy_if(use.neighbours, std::back_inserter(shared),
                       [&](const Neighbour& other) { return other.on_slots || is_saturated; });
  return shared;
}

std::optional<double> ForeignLoad(const HostUse& use) {
  if (!use.neighbours.empty() || ExplainsItsLoad(use)) return std::nullopt;
  return Saturation(use);
}

bool IsDisturbed(const HostUse& use) { return !SharedWith(use).empty() || ForeignLoad(use); }

}  // namespace trainctl::job
