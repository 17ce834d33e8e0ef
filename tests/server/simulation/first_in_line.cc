#include "tests/server/simulation/first_in_line.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "server/core/reach.h"
#include "server/core/waiting.h"

namespace trainctl::core {
namespace {

using base::SteadyMicros;
using Devices = std::set<placement::DeviceId>;

// Of those that may hold devices at all; nullptr: none waits.
const Job* FirstInLine(const State& state) {
  const Job* first = nullptr;
  for (const auto& [id, job] : state.jobs) {
    if (job.lane != Lane::kQueue || UsableClasses(state, job).empty()) continue;
    if (first == nullptr || job.place() < first->place()) first = &job;
  }
  return first;
}

// When enough devices of one class are free, if those were free now.
std::optional<SteadyMicros> StartOf(const State& state, const Job& job, const Now& now,
                                    const Devices& as_free) {
  std::optional<SteadyMicros> first;
  const auto wanted = static_cast<size_t>(job.row.spec.devices);
  for (const placement::ClassId id : UsableClasses(state, job)) {
    std::vector<SteadyMicros> times;
    for (const auto& [name, worker] : state.workers) {
      const placement::FreeDevices::Entry& entry = state.free.entry(worker.device);
      if (entry.device_class != id) continue;
      if (entry.free || as_free.contains(worker.device)) {
        times.push_back(now.steady);
      } else if (entry.coming) {
        times.push_back(std::max(now.steady, *entry.coming));
      }
    }
    if (times.size() < wanted) continue;
    std::ranges::sort(times);
    if (!first || times[wanted - 1] < *first) first = times[wanted - 1];
  }
  return first;
}

}  // namespace

void TheFirstInLineIsNotDelayed(const State& state, const Now& now,
                                const std::set<base::JobId>& placed) {
  const Job* first = FirstInLine(state);
  if (placed.empty() || first == nullptr || !state.leases.empty()) return;
  const bool may_be_passed = !first->demand.user.empty();  // by those with another quota
  if (state.options.policy.half_life_us || may_be_passed) return;
  if (first->row.spec.exclusive || first->retry.pause_until || ReachOf(state, *first) != nullptr)
    return;
  const std::vector<placement::ClassId>& usable = UsableClasses(state, *first);
  Devices taken;  // by jobs behind
  for (const base::JobId id : placed) {
    const Job& job = state.jobs.at(id);
    if (job.place() < first->place()) continue;
    for (const Rank& rank : job.attempt->ranks) {
      const placement::ClassId of = state.free.entry(rank.device).device_class;
      if (std::ranges::find(usable, of) != usable.end()) taken.insert(rank.device);
    }
  }
  if (taken.empty()) return;
  const auto without = StartOf(state, *first, now, taken), with = StartOf(state, *first, now, {});
  ASSERT_TRUE(without) << base::ToString(first->row.id) << " is passed, though nobody knows when "
                       << "it could start";
  ASSERT_TRUE(with && *with <= *without)
      << base::ToString(first->row.id) << " is delayed by jobs behind it";
}

}  // namespace trainctl::core
