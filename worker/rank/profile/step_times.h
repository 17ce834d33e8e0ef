// Where the time of steps went, from what a profiler saw of them. Pure, thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "common/rank/step_kind.h"
#include "worker/rank/profile/trace_event.h"

namespace trainctl::profile {

// A span of time in which something of the kind is at work; [begin, end).
struct Interval {
  int64_t begin = 0;
  int64_t end = 0;
  job::StepKind kind = job::StepKind::kOther;
  bool if_idle = false;  // counts only where nothing else is at work, as a host beside its device
};

using TimeByKind = std::array<int64_t, job::kStepKinds>;  // nanoseconds, by StepKind

// Shares out [begin, end): each moment to the first StepKind of those at work, to kHost where none
// is. The sum is end - begin. Intervals may overlap, in any order, and reach beyond it.
TimeByKind ShareOut(std::span<const Interval> intervals, int64_t begin, int64_t end);

// What the thread does at each moment, from its ranges and operators, which nest: the innermost
// range that has a kind; else the innermost operator that is not kOther; else kOther in any
// operator. Without overlap, in order. only_ranges: operators count for nothing.
std::vector<Interval> WorkOfThread(std::span<const TraceEvent> events, uint64_t thread,
                                   bool only_ranges);

struct StepTimes {
  int64_t begin = 0;
  int64_t end = 0;
  TimeByKind kinds{};
};

// Of each step's range, in order.
//
// A rank without device events works in its steps' thread alone: a step is its range. With them a
// step ends with the last work that it launched. It begins where the one before ended, or with its
// range if that is later. There the host counts where the device is idle only: as kData, as
// kCommunication where it waits for others, as kOptimizer where host_optimizer, else as kHost.
std::vector<StepTimes> TimesOfSteps(std::span<const TraceEvent> events, bool host_optimizer);

}  // namespace trainctl::profile
