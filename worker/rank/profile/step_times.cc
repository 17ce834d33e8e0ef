#include "worker/rank/profile/step_times.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "worker/rank/profile/kind_of_name.h"
#include "worker/rank/profile/range_names.h"

namespace trainctl::profile {
namespace {

using job::StepKind;

bool IsStep(const TraceEvent& event) {
  return event.source == Source::kRange && event.name.starts_with(kStepRange);
}

// In order of begin; of equal begins the longer one first, as the outer.
void SortAsNested(std::vector<const TraceEvent*>* events) {
  std::ranges::sort(*events, [](const TraceEvent* a, const TraceEvent* b) {
    return std::pair(a->begin, -a->end) < std::pair(b->begin, -b->end);
  });
}

// What is open at a moment of a thread, the outermost first.
class OpenEvents {
 public:
  void Open(const TraceEvent* event, bool only_ranges) {
    if (event->source == Source::kRange) {
      const std::optional<StepKind> kind = KindOfRange(event->name);
      open_.push_back({event->end, kind ? kind : range_kind(), operator_kind()});
    } else {
      const StepKind kind = KindOfOperator(event->name);
      const std::optional<StepKind> outer = operator_kind();
      const StepKind inner = kind != StepKind::kOther ? kind : outer.value_or(kind);
      open_.push_back({event->end, range_kind(), only_ranges ? outer : std::optional(inner)});
    }
  }
  void Close() { open_.pop_back(); }

  bool empty() const { return open_.empty(); }
  int64_t end() const { return open_.back().end; }
  std::optional<StepKind> kind() const { return range_kind() ? range_kind() : operator_kind(); }

 private:
  struct Level {
    int64_t end;
    std::optional<StepKind> range_kind, operator_kind;
  };
  std::optional<StepKind> range_kind() const {
    return open_.empty() ? std::nullopt : open_.back().range_kind;
  }
  std::optional<StepKind> operator_kind() const {
    return open_.empty() ? std::nullopt : open_.back().operator_kind;
  }

  std::vector<Level> open_;
};

// Where the host was when it launched what the device did.
using Launches = std::unordered_map<uint64_t, const TraceEvent*>;

Launches LaunchesOf(std::span<const TraceEvent> events) {
  Launches launches;
  for (const TraceEvent& event : events) {
    if (event.source == Source::kLaunch && event.correlation != 0)
      launches.emplace(event.correlation, &event);
  }
  return launches;
}

// Of disjoint intervals in order: the kind at a moment.
std::optional<StepKind> KindAt(const std::vector<Interval>& work, int64_t time) {
  const auto after = std::ranges::upper_bound(work, time, {}, &Interval::begin);
  if (after == work.begin() || std::prev(after)->end <= time) return std::nullopt;
  return std::prev(after)->kind;
}

// What a kernel is by its name goes before where it was launched from: collectives and copies are
// what they are. Of the rest the range of its launch knows more than the name.
StepKind KindOnDevice(const TraceEvent& event, std::optional<StepKind> launched_in) {
  const StepKind named = KindOfKernel(event.name);
  if (named == StepKind::kCommunication) return named;
  if (event.source == Source::kCopy) return StepKind::kCopies;
  if (launched_in == StepKind::kAttention || launched_in == StepKind::kOptimizer)
    return *launched_in;
  return named;
}

std::vector<const TraceEvent*> StepsOf(std::span<const TraceEvent> events) {
  std::vector<const TraceEvent*> steps;
  for (const TraceEvent& event : events) {
    if (IsStep(event)) steps.push_back(&event);
  }
  SortAsNested(&steps);
  return steps;
}

// Which step's range the moment is in; of none the last that began before it.
size_t StepAt(const std::vector<const TraceEvent*>& steps, int64_t time) {
  const auto after =
      std::ranges::upper_bound(steps, time, {}, [](const TraceEvent* step) { return step->begin; });
  return after == steps.begin() ? 0 : static_cast<size_t>(after - steps.begin()) - 1;
}

// Of a device's rank: what the device does, and what the host waits for.
class DeviceSteps {
 public:
  DeviceSteps(std::span<const TraceEvent> events, const std::vector<const TraceEvent*>& steps,
              bool host_optimizer)
      : steps_(steps), ends_(steps.size(), 0) {
    const std::vector<Interval> ranges =
        WorkOfThread(events, steps.front()->thread, /*only_ranges=*/true);
    const Launches launches = LaunchesOf(events);
    for (const TraceEvent& event : events) {
      if (!IsOnDevice(event.source)) continue;
      const auto launch = launches.find(event.correlation);
      const int64_t launched = launch == launches.end() ? event.begin : launch->second->begin;
      Add(event, KindAt(ranges, launched), StepAt(steps, launched));
    }
    for (const Interval& range : ranges) {
      const bool counts = range.kind == StepKind::kData || range.kind == StepKind::kCommunication ||
                          (host_optimizer && range.kind == StepKind::kOptimizer);
      if (counts) intervals_.push_back({range.begin, range.end, range.kind, /*if_idle=*/true});
    }
  }

  std::vector<StepTimes> Times() const {
    std::vector<StepTimes> times;
    int64_t last_end = 0;
    for (size_t i = 0; i < steps_.size(); ++i) {
      StepTimes step{.begin = std::max(last_end, steps_[i]->begin)};
      step.end = std::max(step.begin, ends_[i] > 0 ? ends_[i] : steps_[i]->end);
      step.kinds = ShareOut(intervals_, step.begin, step.end);
      last_end = step.end;
      times.push_back(step);
    }
    return times;
  }

 private:
  void Add(const TraceEvent& event, std::optional<StepKind> launched_in, size_t step) {
    intervals_.push_back({event.begin, event.end, KindOnDevice(event, launched_in)});
    ends_[step] = std::max(ends_[step], event.end);
  }

  const std::vector<const TraceEvent*>& steps_;
  std::vector<int64_t> ends_;  // of what each step launched
  std::vector<Interval> intervals_;
};

// Of a rank whose work is done in one thread.
std::vector<StepTimes> TimesOnHost(std::span<const TraceEvent> events,
                                   const std::vector<const TraceEvent*>& steps) {
  const std::vector<Interval> work =
      WorkOfThread(events, steps.front()->thread, /*only_ranges=*/false);
  std::vector<StepTimes> times;
  for (const TraceEvent* step : steps)
    times.push_back({step->begin, step->end, ShareOut(work, step->begin, step->end)});
  return times;
}

// An interval begins or ends.
struct Turn {
  int64_t time;
  size_t place;  // of its kind among those that count, the first first
  int change;    // +1 or -1
};

std::vector<Turn> TurnsIn(std::span<const Interval> intervals, int64_t begin, int64_t end) {
  std::vector<Turn> turns;
  for (const Interval& interval : intervals) {
    const int64_t from = std::max(begin, interval.begin), to = std::min(end, interval.end);
    if (from >= to) continue;
    const size_t place =
        static_cast<size_t>(interval.kind) + (interval.if_idle ? job::kStepKinds : 0);
    turns.push_back({from, place, 1});
    turns.push_back({to, place, -1});
  }
  std::ranges::sort(turns, {}, &Turn::time);
  return turns;
}

}  // namespace

TimeByKind ShareOut(std::span<const Interval> intervals, int64_t begin, int64_t end) {
  TimeByKind kinds{};
  std::array<int, 2 * job::kStepKinds> at_work{};
  const auto kind_now = [&at_work] {
    const auto first = std::ranges::find_if(at_work, [](int count) { return count > 0; });
    if (first == at_work.end()) return static_cast<size_t>(StepKind::kHost);
    return static_cast<size_t>(first - at_work.begin()) % job::kStepKinds;
  };
  int64_t now = begin;
  for (const Turn& turn : TurnsIn(intervals, begin, end)) {
    kinds[kind_now()] += turn.time - now;
    now = turn.time;
    at_work[turn.place] += turn.change;
  }
  kinds[kind_now()] += std::max(now, end) - now;
  return kinds;
}

std::vector<Interval> WorkOfThread(std::span<const TraceEvent> events, uint64_t thread,
                                   bool only_ranges) {
  std::vector<const TraceEvent*> nested;
  for (const TraceEvent& event : events) {
    const bool is_host = event.source == Source::kRange || event.source == Source::kOperator;
    if (is_host && event.thread == thread) nested.push_back(&event);
  }
  SortAsNested(&nested);
  std::vector<Interval> work;
  OpenEvents open;
  int64_t now = 0;
  const auto advance = [&](int64_t time) {
    if (time > now && !open.empty() && open.kind()) work.push_back({now, time, *open.kind()});
    now = std::max(now, time);
  };
  for (const TraceEvent* event : nested) {
    for (; !open.empty() && open.end() <= event->begin; open.Close()) advance(open.end());
    advance(event->begin);
    open.Open(event, only_ranges);
  }
  for (; !open.empty(); open.Close()) advance(open.end());
  return work;
}

std::vector<StepTimes> TimesOfSteps(std::span<const TraceEvent> events, bool host_optimizer) {
  const std::vector<const TraceEvent*> steps = StepsOf(events);
  if (steps.empty()) return {};
  const bool has_device =
      std::ranges::any_of(events, [](const TraceEvent& event) { return IsOnDevice(event.source); });
  return has_device ? DeviceSteps(events, steps, host_optimizer).Times()
                    : TimesOnHost(events, steps);
}

}  // namespace trainctl::profile
