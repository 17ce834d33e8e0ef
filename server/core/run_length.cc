#include "server/core/run_length.h"

#include <algorithm>
#include <cstdlib>

#include "server/core/leases.h"
#include "server/core/quota.h"

namespace trainctl::core {
namespace {

constexpr int64_t kMicrosPerSecond = 1'000'000;
constexpr int64_t kMicrosPerMinute = 60 * kMicrosPerSecond;
constexpr int64_t kLongestSeconds = int64_t{100} * 365 * 24 * 3600;  // what is longer is as long

// Of what clients and ranks tell: any number.
int64_t Micros(double seconds) {
  if (!(seconds < kLongestSeconds)) return kLongestSeconds * kMicrosPerSecond;
  return static_cast<int64_t>(std::max(seconds, 0.0) * kMicrosPerSecond);
}

std::optional<int64_t> Limit(const Options& options, const Job& job) {
  const std::optional<int64_t>& seconds = job.row.spec.resources.time_limit_seconds;
  if (!seconds) return std::nullopt;
  return std::min(*seconds, kLongestSeconds) * kMicrosPerSecond + options.stop_grace_us;
}

// That the queue may go by.
const job::TimeEstimate* PredictedTime(const Job& job) {
  const auto& prediction = job.row.prediction;
  return prediction && prediction->time && !prediction->time->claimed ? &*prediction->time
                                                                      : nullptr;
}

// Since when the gang is being stopped, on the steady clock.
base::SteadyMicros StoppedAt(const Stop& stop, const Now& now) {
  return now.steady - std::max<int64_t>(0, now.wall - stop.at);
}

// Of its live attempt, where that is for its devices.
const job::TimeEstimate* PredictedOfItsDevices(const Job& job) {
  const job::TimeEstimate* time = PredictedTime(job);
  const bool holds = time && time->device_name == job.attempt->ranks.front().row.device_name;
  return holds ? time : nullptr;
}

// Where that has not passed.
std::optional<base::SteadyMicros> EndAfter(double seconds, const Job& job, const Now& now) {
  const base::SteadyMicros end = job.attempt->placed_steady + Micros(seconds);
  return end > now.steady ? std::optional(end) : std::nullopt;
}

// It evaluates, saves or generates: how long that takes is not predicted for itself.
bool HasMadeLastStep(const Job& job) {
  const JobProgress progress = Progress(job);
  return progress.steps > 0 && progress.step >= progress.steps;
}

// By the pace of its steps, else as is believed.
std::optional<base::SteadyMicros> ForeseenEnd(const State& state, const Job& job, const Now& now) {
  if (const std::optional<double> seconds = RemainingSeconds(state, job, now))
    return now.steady + Micros(*seconds);
  const job::TimeEstimate* time = PredictedOfItsDevices(job);
  return time ? EndAfter(time->QueueSeconds(), job, now) : std::nullopt;
}

// The lease by which the live job is stopped first: its own, or the next of a device that it has.
const Lease* LeaseThatEnds(const State& state, const Job& job) {
  if (state.leases.empty()) return nullptr;
  if (job.lease != 0) return FindLease(state, job.lease);
  const Lease* first = nullptr;
  for (const Rank& rank : job.attempt->ranks) {
    const Lease* lease = NextLeaseOf(state, rank.row.worker);
    if (lease != nullptr && (first == nullptr || lease->row.start < first->row.start))
      first = lease;
  }
  return first;
}

// When its devices are to be free for that, on the steady clock.
std::optional<base::SteadyMicros> EndByLease(const State& state, const Job& job, const Now& now) {
  const Lease* lease = LeaseThatEnds(state, job);
  if (lease == nullptr) return std::nullopt;
  const base::WallMicros at = job.lease != 0 ? lease->row.end : lease->row.start;
  return std::max(now.steady, now.steady + (at - now.wall));
}

// Devices that are late are expected at any moment: whoever waits may spare others for them.
void NoticeIfLate(Turn& turn, LiveAttempt& attempt) {
  const bool was_late = attempt.is_late;
  attempt.is_late = attempt.expected_end && *attempt.expected_end <= turn.now.steady;
  if (attempt.is_late && !was_late) turn.placement_may_change = true;
}

}  // namespace

int64_t MinutesWithin(const Options& options, int64_t room) {
  return std::max<int64_t>(0, (room - options.stop_grace_us) / kMicrosPerMinute);
}

std::string WholeMinutes(int64_t minutes) {
  constexpr int64_t kMostMinutes = 119, kMostHours = 47;
  const auto of = [](int64_t count, const char* unit) { return std::to_string(count) + unit; };
  if (minutes <= kMostMinutes) return of(minutes, " min");
  const int64_t hours = minutes / 60;
  if (hours <= kMostHours) return of(hours, " h ") + of(minutes % 60, " min");
  return of(hours / 24, " d ") + of(hours % 24, " h");
}

std::string AboutMinutes(int64_t micros) {
  if (micros < kMicrosPerMinute) return "less than a minute";
  return "about " + WholeMinutes((micros + kMicrosPerMinute / 2) / kMicrosPerMinute);
}

std::optional<int64_t> LongestRun(const Options& options, const Job& job) {
  if (const std::optional<int64_t> limit = Limit(options, job)) return limit;
  const job::TimeEstimate* time = PredictedTime(job);
  if (time == nullptr) return std::nullopt;
  const int64_t longest = Micros(time->QueueSeconds() * job::kPredictionMargin);
  return std::max<int64_t>(1, (longest + kMicrosPerMinute - 1) / kMicrosPerMinute) *
         kMicrosPerMinute;
}

std::optional<int64_t> LongestRunOn(const Options& options, const Job& job,
                                    const placement::DeviceClass& device_class) {
  if (const std::optional<int64_t> limit = Limit(options, job)) return limit;
  const job::TimeEstimate* time = PredictedTime(job);
  if (time == nullptr || time->device_name != device_class.name) return std::nullopt;
  return LongestRun(options, job);
}

std::optional<TimeLeft> TimeLeftOf(const State& state, const Job& job, const Now& now) {
  if (!job.attempt || job.attempt->row.stop || HasMadeLastStep(job)) return std::nullopt;
  std::optional<TimeLeft> least;
  const auto add = [&](double seconds, Bound by) {
    if (!least || seconds < least->seconds) least = {std::max(0.0, seconds), by};
  };
  if (const std::optional<double> seconds = RemainingSeconds(state, job, now)) {
    add(*seconds, Bound::kSteps);
  } else if (const job::TimeEstimate* time = PredictedOfItsDevices(job)) {
    if (const auto end = EndAfter(time->total_seconds, job, now))
      add(static_cast<double>(*end - now.steady) / 1e6, Bound::kPrediction);
  }
  const double ran = static_cast<double>(now.steady - job.attempt->placed_steady) / 1e6;
  if (const std::optional<int64_t>& limit = job.row.spec.resources.time_limit_seconds)
    add(static_cast<double>(*limit) - ran, Bound::kTimeLimit);
  if (const auto at = EndByLease(state, job, now)) {
    add(static_cast<double>(*at - now.steady - state.options.lease_grace_us) / 1e6, Bound::kLease);
  }
  return least;
}

std::string TimeLeftText(const State& state, const Job& job, const Now& now) {
  const std::optional<TimeLeft> left = TimeLeftOf(state, job, now);
  if (!left) return "";
  const std::string text = ", " + AboutMinutes(Micros(left->seconds)) + " left";
  switch (left->by) {
    case Bound::kSteps: return text;
    case Bound::kPrediction: return text + ", as predicted";
    case Bound::kTimeLimit: return text + " by its time limit";
    case Bound::kLease: return text + " by a lease";
  }
  return text;
}

std::string LeaseWarning(const State& state, const Job& job, const Now& now) {
  const Lease* lease = job.attempt->row.stop ? nullptr : LeaseThatEnds(state, job);
  if (lease == nullptr) return "";
  const bool is_own = job.lease != 0;
  const base::WallMicros at = is_own ? lease->row.end : lease->row.start;
  if (now.wall < at - state.options.lease_warning_us) return "";
  return LeaseText(lease->row) + (is_own ? " ends " : " has its devices from ") + UtcText(at) +
         (is_own ? "" : " on") + ": " + StopText(state, job.row.spec, at);
}

std::optional<base::SteadyMicros> ExpectedEnd(const State& state, const Job& job, const Now& now) {
  const LiveAttempt& attempt = *job.attempt;
  if (const std::optional<Stop>& stop = attempt.row.stop)
    return StoppedAt(*stop, now) + stop->grace_us;
  const std::optional<base::SteadyMicros> by_lease = EndByLease(state, job, now);
  const auto at_latest = [&](base::SteadyMicros end) {
    return by_lease ? std::min(end, *by_lease) : end;
  };
  if (const std::optional<int64_t> limit = Limit(state.options, job))
    return at_latest(attempt.placed_steady + *limit);
  const std::optional<base::SteadyMicros> foreseen = ForeseenEnd(state, job, now);
  if (!foreseen || *foreseen <= now.steady) return by_lease;
  return at_latest(*foreseen);
}

void RenewExpectedEnd(Turn& turn, Job& job) {
  constexpr int64_t kFew = 5 * kMicrosPerSecond;
  const std::optional<base::SteadyMicros>& known = job.attempt->expected_end;
  const std::optional<base::SteadyMicros> renewed = ExpectedEnd(turn.state, job, turn.now);
  const bool is_alike =
      known.has_value() == renewed.has_value() && (!known || std::abs(*known - *renewed) < kFew);
  if (is_alike) return NoticeIfLate(turn, *job.attempt);
  ExpectEnd(turn.state, job, renewed);
  NoticeIfLate(turn, *job.attempt);
  turn.placement_may_change = true;  // a job that waited for nobody knew when may let others pass
  if (job.row.spec.exclusive) return UpdateFreeOfHosts(turn, *job.attempt);
  for (const Rank& rank : job.attempt->ranks) UpdateFree(turn, WorkerOf(turn.state, rank));
}

}  // namespace trainctl::core
