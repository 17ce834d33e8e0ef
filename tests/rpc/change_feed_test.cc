#include "server/coordinator/change_feed.h"

#include <gtest/gtest.h>

namespace trainctl::coordinator {
namespace {

constexpr base::JobId kFirst{1}, kSecond{2}, kThird{3};

TEST(ChangeFeed, ASubscriberHearsOfItsJobsOnceAFlush) {
  ChangeFeed feed;
  std::vector<std::set<base::JobId>> heard;
  feed.Subscribe({kFirst, kSecond}, [&](const auto& jobs) { heard.push_back(jobs); });
  for (int i = 0; i < 10; ++i) feed.Mark(kFirst);
  feed.Mark(kThird);
  feed.Flush();
  feed.Flush();
  EXPECT_EQ(heard, (std::vector<std::set<base::JobId>>{{kFirst}}));
}

TEST(ChangeFeed, WhoLeftHearsNothing) {
  ChangeFeed feed;
  int heard = 0;
  const auto subscription = feed.Subscribe({kFirst}, [&](const auto&) { ++heard; });
  feed.Mark(kFirst);
  feed.Unsubscribe(subscription);
  feed.Flush();
  EXPECT_EQ(heard, 0);
}

TEST(ChangeFeed, ACallbackMayLeaveAndMakeOthersLeave) {
  ChangeFeed feed;
  int heard = 0;
  ChangeFeed::Subscription first = 0, second = 0;
  const auto leave_both = [&](const auto&) {
    ++heard;
    feed.Unsubscribe(first);
    feed.Unsubscribe(second);
  };
  first = feed.Subscribe({kFirst}, leave_both);
  second = feed.Subscribe({kFirst}, leave_both);
  feed.Mark(kFirst);
  feed.Flush();
  EXPECT_EQ(heard, 1);
}

}  // namespace
}  // namespace trainctl::coordinator
