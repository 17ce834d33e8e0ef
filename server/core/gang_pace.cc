#include "server/core/gang_pace.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace trainctl::core {
namespace {

constexpr size_t kMostSteps = 256;  // that wait for some ranks' word

// Of the sorted values without the one at `left_out`; there are two values at least.
double MedianOfOthers(const std::vector<double>& sorted, size_t left_out) {
  const auto other = [&](size_t i) { return sorted[i < left_out ? i : i + 1]; };
  const size_t others = sorted.size() - 1;
  return (other((others - 1) / 2) + other(others / 2)) / 2;
}

}  // namespace

std::vector<GangPace::Verdict> GangPace::Add(int64_t rank, size_t ranks,
                                             const job::MetricPoint& point,
                                             const SlownessPolicy& policy) {
  const bool is_work = point.name == job::Name(job::Metric::kWorkSeconds);
  if (!is_work || !std::isfinite(point.value) || point.value < 0 || ranks < 2) return {};
  Step& step = steps_[point.step];
  step[rank] = point.value;
  if (step.size() == ranks) {
    const Step complete = std::move(step);
    steps_.erase(steps_.begin(), steps_.upper_bound(point.step));  // older ones stay incomplete
    return Judge(complete, policy);
  }
  if (steps_.size() > kMostSteps) steps_.erase(steps_.begin());
  return {};
}

void GangPace::Forget(int64_t rank) {
  const auto streak = streaks_.find(rank);
  if (streak != streaks_.end()) streak->second = {.last_number = streak->second.last_number};
}

std::vector<GangPace::Verdict> GangPace::Judge(const Step& step, const SlownessPolicy& policy) {
  std::vector<double> sorted;
  for (const auto& [rank, seconds] : step) sorted.push_back(seconds);
  std::ranges::sort(sorted);
  std::vector<Verdict> verdicts;
  for (const auto& [rank, seconds] : step) {
    const auto place =
        static_cast<size_t>(std::ranges::lower_bound(sorted, seconds) - sorted.begin());
    const double others = MedianOfOthers(sorted, place);
    const bool keeps_up = seconds < policy.ratio * others;
    const bool slow = !keeps_up && seconds - others >= policy.least_seconds;
    Streak& streak = streaks_[rank];
    if (streak.slow != slow)
      streak = {.slow = slow, .last = streak.last, .last_number = streak.last_number};
    const bool is_either = slow || keeps_up;
    if (!is_either || streak.last == slow) continue;
    ++streak.steps;
    streak.work += seconds;
    streak.others += others;
    if (streak.steps < policy.steps) continue;
    streak.last = slow;
    if (slow || streak.last_number > 0) ++streak.last_number;
    const double ratio = streak.others > 0 ? streak.work / streak.others : 1;
    verdicts.push_back({rank, slow, ratio, streak.last_number});
  }
  return verdicts;
}

}  // namespace trainctl::core
