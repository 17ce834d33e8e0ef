#include <gtest/gtest.h>

#include <set>

#include "common/job/outcome.h"
#include "common/rank/metric.h"

namespace trainctl::job {
namespace {

TEST(Names, EveryStateIsReadBack) {
  for (int i = 0; i <= static_cast<int>(JobState::kFinished); ++i) {
    const auto state = static_cast<JobState>(i);
    EXPECT_EQ(ParseJobState(Name(state)), state);
  }
}

TEST(Names, EveryOutcomeIsReadBack) {
  for (int i = 0; i <= static_cast<int>(Outcome::kLaunchFailed); ++i) {
    const auto outcome = static_cast<Outcome>(i);
    EXPECT_EQ(ParseOutcome(Name(outcome)), outcome);
  }
}

TEST(Names, EveryPhaseIsReadBack) {
  for (int i = 0; i <= static_cast<int>(Phase::kAfterOptimizerStep); ++i) {
    const auto phase = static_cast<Phase>(i);
    EXPECT_EQ(ParsePhase(Name(phase)), phase);
  }
}

TEST(Names, AreThoseOfTheApi) {
  EXPECT_EQ(Name(JobState::kQueued), "QUEUED");
  EXPECT_EQ(Name(Outcome::kOomGpu), "OOM_GPU");
  EXPECT_EQ(Name(Outcome::kNcclError), "NCCL_ERROR");
  EXPECT_EQ(Name(Outcome::kNodeLost), "NODE_LOST");
  EXPECT_EQ(Name(Outcome::kLaunchFailed), "LAUNCH_FAILED");
  EXPECT_EQ(Name(Phase::kAfterOptimizerStep), "after_optimizer_step");
}

TEST(Names, OthersAreUnknown) {
  EXPECT_EQ(ParseJobState("queued"), std::nullopt);
  EXPECT_EQ(ParseOutcome(""), std::nullopt);
  EXPECT_EQ(ParsePhase("AFTER_FORWARD"), std::nullopt);
}

TEST(Metrics, EachNameStandsOnce) {
  std::set<std::string_view> names;
  for (const MetricInfo& metric : Metrics())
    EXPECT_TRUE(names.insert(metric.name).second) << metric.name;
}

TEST(Metrics, EachIsFoundByItsName) {
  for (const MetricInfo& metric : Metrics()) EXPECT_EQ(FindMetric(metric.name), &metric);
  EXPECT_EQ(FindMetric("losss"), nullptr);
}

TEST(Metrics, OnlyThroughputAndUtilizationAreBetterWhenHigher) {
  std::set<std::string_view> higher;
  for (const MetricInfo& metric : Metrics()) {
    if (metric.better == Better::kHigher) higher.insert(metric.name);
  }
  EXPECT_EQ(higher, (std::set<std::string_view>{"tokens_per_second", "trained_tokens_per_second",
                                                "samples_per_second", "gpu_utilization_percent"}));
}

}  // namespace
}  // namespace trainctl::job
