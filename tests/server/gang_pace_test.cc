// Which ranks of a gang are judged slow, by what they say of their own work.
#include "server/core/gang_pace.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace trainctl::core {
namespace {

class GangPaceTest : public testing::Test {
 protected:
  using Verdicts = std::vector<GangPace::Verdict>;

  // A step of which each rank tells its work; all verdicts that come of it.
  Verdicts Step(const std::vector<double>& seconds) {
    Verdicts verdicts;
    for (size_t rank = 0; rank < seconds.size(); ++rank) {
      for (const auto& verdict :
           Tell(static_cast<int64_t>(rank), step_, seconds[rank], seconds.size()))
        verdicts.push_back(verdict);
    }
    ++step_;
    return verdicts;
  }
  Verdicts Steps(int64_t count, const std::vector<double>& seconds) {
    Verdicts verdicts;
    for (int64_t i = 0; i < count; ++i) {
      for (const GangPace::Verdict& verdict : Step(seconds)) verdicts.push_back(verdict);
    }
    return verdicts;
  }
  Verdicts Tell(int64_t rank, int64_t step, double seconds, size_t ranks) {
    return pace_.Add(rank, ranks, {.name = "work_seconds", .step = step, .value = seconds},
                     policy_);
  }
  static std::vector<int64_t> Slow(const Verdicts& verdicts) {
    std::vector<int64_t> slow;
    for (const GangPace::Verdict& verdict : verdicts) {
      if (verdict.slow) slow.push_back(verdict.rank);
    }
    return slow;
  }

  GangPace pace_;
  SlownessPolicy policy_;
  int64_t step_ = 0;
};

TEST_F(GangPaceTest, TheSlowOneOfAPairIsNamedOnceAfterTwentySteps) {
  EXPECT_TRUE(Steps(19, {1, 1.5}).empty());
  const Verdicts verdicts = Step({1, 1.5});
  ASSERT_EQ(Slow(verdicts), std::vector<int64_t>{1});
  EXPECT_DOUBLE_EQ(verdicts.back().ratio, 1.5);
  EXPECT_TRUE(Steps(100, {1, 1.5}).empty());
}

TEST_F(GangPaceTest, OfManyItIsMeasuredByTheMedianOfTheOthers) {
  const Verdicts verdicts = Steps(20, {1, 1, 1.4, 1.2, 2});
  EXPECT_EQ(Slow(verdicts), (std::vector<int64_t>{2, 4}));
  EXPECT_NEAR(verdicts[2].ratio, 1.4 / 1.1, 1e-9);
}

TEST_F(GangPaceTest, OneStepAtTheGangsPaceBeginsTheCountAnew) {
  Steps(19, {1, 1.5});
  EXPECT_EQ(Slow(Step({1, 1.2})), std::vector<int64_t>());
  EXPECT_EQ(Slow(Steps(19, {1, 1.5})), std::vector<int64_t>());
  EXPECT_EQ(Slow(Step({1, 1.5})), std::vector<int64_t>{1});
}

TEST_F(GangPaceTest, RowsOfDifferentLengthAreNoSlowness) {
  for (int i = 0; i < 200; ++i) {
    EXPECT_EQ(Slow(Step(i % 3 == 0 ? std::vector<double>{1, 0.5} : std::vector<double>{0.5, 1})),
              std::vector<int64_t>());
  }
}

TEST_F(GangPaceTest, OfShortStepsTheHostsNoiseIsNoSlowness) {
  EXPECT_EQ(Slow(Steps(100, {0.004, 0.008})), std::vector<int64_t>());
}

TEST_F(GangPaceTest, AStepLongerByTheRatioAloneShowsNeither) {
  const std::vector<double> slow = {0.01, 0.02}, neither = {0.01, 0.014}, well = {0.01, 0.01};
  EXPECT_EQ(Slow(Steps(20, slow)), std::vector<int64_t>{1});
  EXPECT_TRUE(Steps(100, neither).empty()) << "it does not keep up";
  EXPECT_TRUE(Steps(19, well).empty());
  EXPECT_TRUE(Step(neither).empty());
  ASSERT_EQ(Step(well).size(), 1u);
  EXPECT_TRUE(Steps(19, slow).empty());
  EXPECT_TRUE(Step(neither).empty());
  EXPECT_TRUE(Steps(19, slow).empty()) << "not twenty in a row";
  EXPECT_EQ(Slow(Step(slow)), std::vector<int64_t>{1});
}

TEST_F(GangPaceTest, WhoKeepsUpAgainIsNamedToo) {
  Steps(20, {1, 1.5});
  const Verdicts verdicts = Steps(20, {1, 1.1});
  ASSERT_EQ(verdicts.size(), 1u);
  EXPECT_EQ(verdicts[0].rank, 1);
  EXPECT_FALSE(verdicts[0].slow);
  EXPECT_EQ(verdicts[0].number, 2);
}

TEST_F(GangPaceTest, AStepAtTheGangsPaceDoesNotNameASlowOneAgain) {
  Steps(20, {1, 1.5});
  Step({1, 1});
  EXPECT_TRUE(Steps(20, {1, 1.5}).empty());
  EXPECT_EQ(Steps(20, {1, 1}).size(), 1u);
  EXPECT_EQ(Slow(Steps(20, {1, 1.5})), std::vector<int64_t>{1});
}

TEST_F(GangPaceTest, VerdictsOfARankAreNumberedFromItsFirstSlowOne) {
  EXPECT_EQ(Steps(20, {1, 1}).back().number, 0);
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(Step({1, 1.5}).empty());
    EXPECT_TRUE(Steps(20, {1, 1}).empty());
  }
  for (int64_t number = 1; number <= 4; ++number) {
    const Verdicts verdicts = Steps(20, {1, number % 2 == 1 ? 1.5 : 1.0});
    ASSERT_EQ(verdicts.size(), 1u);
    EXPECT_EQ(verdicts[0].number, number);
  }
}

TEST_F(GangPaceTest, StepsThatARankDoesNotTellOfDontCount) {
  Steps(19, {1, 1.5});
  for (int i = 0; i < 50; ++i) EXPECT_TRUE(Tell(0, step_++, 1, 2).empty());  // rank 1 writes
  EXPECT_EQ(Slow(Step({1, 1.5})), std::vector<int64_t>{1});
}

TEST_F(GangPaceTest, RanksMayTellOfTheirStepsOneBehindTheOther) {
  for (int64_t step = 0; step < 1000; ++step) EXPECT_TRUE(Tell(0, step, 1, 2).empty());
  Verdicts verdicts;
  for (int64_t step = 0; step < 1000; ++step) {
    for (const GangPace::Verdict& verdict : Tell(1, step, 1.5, 2)) verdicts.push_back(verdict);
  }
  EXPECT_EQ(Slow(verdicts), std::vector<int64_t>{1}) << "of as many as are kept";
}

TEST_F(GangPaceTest, NonsenseAndOneRankAloneAreNothing) {
  for (const double value :
       {std::numeric_limits<double>::quiet_NaN(), -1.0, std::numeric_limits<double>::infinity()}) {
    EXPECT_TRUE(Steps(30, {1, value}).empty());
  }
  EXPECT_TRUE(Steps(30, {1}).empty());
  EXPECT_EQ(Slow(Steps(30, {0, 0})), std::vector<int64_t>());
}

}  // namespace
}  // namespace trainctl::core
