#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "common/rank/reduction.h"
#include "common/wire/metric_point.h"
#include "proto/trainctl.pb.h"

namespace trainctl::wire {
namespace {

template <class T>
std::optional<T> Maybe(const rc::Gen<T>& gen) {
  return *rc::gen::arbitrary<bool>() ? std::optional<T>(*gen) : std::nullopt;
}

RC_GTEST_PROP(MetricSummary, ComesBackAsItWas, ()) {
  const job::MetricSummary summary{.name = "tokens",
                                   .rank = Maybe(rc::gen::inRange<int64_t>(0, 100)),
                                   .phase = job::Phase::kAfterForward,
                                   .latest = *rc::gen::arbitrary<double>(),
                                   .min = *rc::gen::arbitrary<double>(),
                                   .max = *rc::gen::arbitrary<double>(),
                                   .total = *rc::gen::arbitrary<double>(),
                                   .count = *rc::gen::inRange<int64_t>(0, 1'000'000),
                                   .median = Maybe(rc::gen::arbitrary<double>())};
  const job::MetricSummary read = FromWire(ToWire(summary));
  RC_ASSERT(read.name == summary.name);
  RC_ASSERT(read.rank == summary.rank);
  RC_ASSERT(read.phase == summary.phase);
  RC_ASSERT(read.latest == summary.latest);
  RC_ASSERT(read.min == summary.min);
  RC_ASSERT(read.max == summary.max);
  RC_ASSERT(read.total == summary.total);
  RC_ASSERT(read.count == summary.count);
  RC_ASSERT(read.median == summary.median);
}

TEST(MetricSummary, ThatTravelledGivesTheSameRate) {
  const job::MetricSummary sent[] = {{.name = "tokens", .total = 900, .count = 3},
                                     {.name = "step_seconds", .total = 4.5, .count = 3}};
  const job::MetricSummary read[] = {FromWire(ToWire(sent[0])), FromWire(ToWire(sent[1]))};
  EXPECT_EQ(job::Reduce(job::Metric::kTokensPerSecond, read)->value, 200);
}

}  // namespace
}  // namespace trainctl::wire
