#include "worker/rank/profile/step_times.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace trainctl::profile {
namespace {

using enum job::StepKind;

int64_t Of(const TimeByKind& kinds, job::StepKind kind) { return kinds[static_cast<size_t>(kind)]; }

int64_t Sum(const TimeByKind& kinds) {
  return std::accumulate(kinds.begin(), kinds.end(), int64_t{0});
}

TimeByKind Kinds(const std::vector<std::pair<job::StepKind, int64_t>>& times) {
  TimeByKind kinds{};
  for (const auto& [kind, time] : times) kinds[static_cast<size_t>(kind)] = time;
  return kinds;
}

TEST(ShareOut, NothingAtWorkIsTheHosts) { EXPECT_EQ(ShareOut({}, 100, 130), Kinds({{kHost, 30}})); }

TEST(ShareOut, CommunicationCountsWhereNothingIsComputed) {
  const std::vector<Interval> both = {{0, 60, kMatmul}, {40, 100, kCommunication}};
  EXPECT_EQ(ShareOut(both, 0, 110), Kinds({{kMatmul, 60}, {kCommunication, 40}, {kHost, 10}}));
}

TEST(ShareOut, AMomentOfSeveralStreamsCountsOnce) {
  const std::vector<Interval> streams = {{0, 50, kOther},          {10, 30, kMatmul},
                                         {20, 40, kMatmul},        {45, 70, kCopies},
                                         {60, 90, kCommunication}, {55, 65, kCopies}};
  EXPECT_EQ(ShareOut(streams, 0, 90),
            Kinds({{kOther, 20}, {kMatmul, 30}, {kCopies, 10}, {kCommunication, 30}}));
}

TEST(ShareOut, WhatReachesBeyondIsCut) {
  const std::vector<Interval> beyond = {{-50, 10, kMatmul}, {20, 900, kOther}, {40, 60, kMatmul}};
  EXPECT_EQ(ShareOut(beyond, 0, 30), Kinds({{kMatmul, 10}, {kOther, 10}, {kHost, 10}}));
}

TEST(ShareOut, TheHostCountsWhereTheDeviceIsIdle) {
  const std::vector<Interval> both = {{0, 100, kOptimizer, /*if_idle=*/true},
                                      {10, 40, kOther},
                                      {40, 50, kCopies},
                                      {90, 120, kData, /*if_idle=*/true}};
  EXPECT_EQ(ShareOut(both, 0, 120),
            Kinds({{kOptimizer, 60}, {kOther, 30}, {kCopies, 10}, {kData, 20}}));
}

TEST(ShareOut, KindsSumUpToTheTimeWhateverOverlaps) {
  std::mt19937 random(5);
  for (int round = 0; round < 200; ++round) {
    std::vector<Interval> intervals;
    for (int i = 0; i < 40; ++i) {
      const auto begin = static_cast<int64_t>(random() % 1000);
      intervals.push_back({begin, begin + static_cast<int64_t>(random() % 90),
                           static_cast<job::StepKind>(random() % job::kStepKinds),
                           random() % 2 == 0});
    }
    const TimeByKind kinds = ShareOut(intervals, 100, 900);
    EXPECT_EQ(Sum(kinds), 800);
    for (const int64_t time : kinds) EXPECT_GE(time, 0);
  }
}

// ---- a rank on a CPU ----

TraceEvent Range(const std::string& name, int64_t begin, int64_t end, uint64_t thread = 1) {
  return {Source::kRange, name, begin, end, thread};
}
TraceEvent Op(const std::string& name, int64_t begin, int64_t end, uint64_t thread = 1) {
  return {Source::kOperator, name, begin, end, thread};
}

TEST(StepTimes, OfAHostAreWhatItsThreadDoes) {
  const std::vector<TraceEvent> events = {
      Range("step 7", 0, 100),
      Range("data", 0, 10),
      Op("aten::mul", 2, 8),  // to make the micro batch
      Range("forward", 10, 60),
      Op("aten::linear", 12, 32),
      Op("aten::addmm", 15, 30),
      Range("attention", 35, 50),
      Op("aten::repeat_interleave", 36, 40),
      Op("aten::sum", 52, 58),
      Op("aten::fill_", 53, 55),
      Range("collective", 60, 70),
      Range("optimizer", 70, 90),
      Op("aten::mul", 72, 80),
      Op("aten::mm", 0, 100, /*thread=*/2),  // another thread's
  };
  const std::vector<StepTimes> steps = TimesOfSteps(events, false);
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_EQ(steps[0].kinds, Kinds({{kData, 10},
                                   {kMatmul, 20},
                                   {kAttention, 15},
                                   {kOther, 4},
                                   {kCopies, 2},
                                   {kCommunication, 10},
                                   {kOptimizer, 20},
                                   {kHost, 19}}));
  EXPECT_EQ(Sum(steps[0].kinds), 100);
}

TEST(StepTimes, StepsComeInTheirOrder) {
  const std::vector<TraceEvent> events = {Range("step 8", 50, 90), Op("aten::mm", 60, 70),
                                          Range("step 7", 0, 40), Op("aten::mm", 5, 10)};
  const std::vector<StepTimes> steps = TimesOfSteps(events, false);
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(steps[0].begin, 0);
  EXPECT_EQ(Of(steps[0].kinds, kMatmul), 5);
  EXPECT_EQ(Of(steps[1].kinds, kMatmul), 10);
}

TEST(StepTimes, OfATraceWithoutStepsAreNone) {
  EXPECT_TRUE(TimesOfSteps({}, false).empty());
  EXPECT_TRUE(TimesOfSteps(std::vector<TraceEvent>{Op("aten::mm", 0, 9)}, false).empty());
}

// ---- a rank on a GPU ----

class DeviceTrace {
 public:
  // Launched at a moment, runs later.
  void Kernel(const std::string& name, int64_t launched, int64_t begin, int64_t end,
              Source source = Source::kKernel) {
    const uint64_t correlation = ++last_;
    events.push_back({Source::kLaunch, "cudaLaunchKernel", launched, launched + 1, 1, correlation});
    events.push_back({source, name, begin, end, 0, correlation});
  }

  std::vector<TraceEvent> events;

 private:
  uint64_t last_ = 0;
};

TEST(StepTimes, OfADeviceEndWithTheLastWorkThatTheyLaunched) {
  DeviceTrace trace;
  trace.events = {Range("step 0", 0, 20), Range("step 1", 20, 40), Range("step 2", 40, 200)};
  trace.Kernel("nvjet_a", 5, 10, 100);
  trace.Kernel("nvjet_b", 25, 100, 190);
  trace.Kernel("nvjet_c", 45, 200, 280);
  const std::vector<StepTimes> steps = TimesOfSteps(trace.events, false);
  ASSERT_EQ(steps.size(), 3u);
  EXPECT_EQ(steps[0].end, 100);
  EXPECT_EQ(steps[1].begin, 100);
  EXPECT_EQ(steps[1].kinds, Kinds({{kMatmul, 90}}));
  EXPECT_EQ(steps[2].begin, 190);
  EXPECT_EQ(steps[2].kinds, Kinds({{kMatmul, 80}, {kHost, 10}}));
}

TEST(StepTimes, TimeBetweenStepsIsNoneOfTheirs) {
  DeviceTrace trace;
  trace.events = {Range("step 0", 0, 20), Range("step 1", 500, 540)};  // an evaluation between
  trace.Kernel("nvjet_a", 5, 10, 100);
  trace.Kernel("nvjet_b", 510, 520, 600);
  const std::vector<StepTimes> steps = TimesOfSteps(trace.events, false);
  EXPECT_EQ(steps[1].begin, 500);
  EXPECT_EQ(steps[1].kinds, Kinds({{kMatmul, 80}, {kHost, 20}}));
}

TEST(StepTimes, AKernelIsWhatTheRangeOfItsLaunchSays) {
  DeviceTrace trace;
  trace.events = {Range("step 0", 0, 90), Range("attention", 10, 20), Range("optimizer", 30, 40),
                  Range("data", 50, 60)};
  trace.Kernel("elementwise_pad", 12, 100, 110);
  trace.Kernel("elementwise_mul", 35, 110, 130);
  trace.Kernel("ncclDevKernel_AllReduce", 36, 130, 160);
  trace.Kernel("Memcpy HtoD", 55, 160, 165, Source::kCopy);
  trace.Kernel("BackwardKernel", 70, 165, 170);
  trace.Kernel("Memcpy PtoP (Device -> Device)", 75, 170, 177, Source::kCopy);
  const std::vector<StepTimes> steps = TimesOfSteps(trace.events, false);
  EXPECT_EQ(Of(steps[0].kinds, kAttention), 10);
  EXPECT_EQ(Of(steps[0].kinds, kOptimizer), 20);
  EXPECT_EQ(Of(steps[0].kinds, kCommunication), 30 + 7);
  EXPECT_EQ(Of(steps[0].kinds, kCopies), 5);
  EXPECT_EQ(Of(steps[0].kinds, kOther), 5);
  EXPECT_EQ(Sum(steps[0].kinds), 177);
}

// Issuing the optimizer's kernels takes host time, which is no optimizer's unless it runs there.
TEST(StepTimes, TheHostsOptimizerCountsWhereItIsThere) {
  DeviceTrace trace;
  trace.events = {Range("step 0", 0, 100), Range("data", 0, 10), Range("optimizer", 40, 90)};
  trace.Kernel("nvjet_a", 12, 20, 60);
  trace.Kernel("UpdateKernel", 80, 95, 100);
  EXPECT_EQ(TimesOfSteps(trace.events, false)[0].kinds,
            Kinds({{kData, 10}, {kMatmul, 40}, {kOptimizer, 5}, {kHost, 45}}));
  EXPECT_EQ(TimesOfSteps(trace.events, true)[0].kinds,
            Kinds({{kData, 10}, {kMatmul, 40}, {kOptimizer, 35}, {kHost, 15}}));
}

}  // namespace
}  // namespace trainctl::profile
