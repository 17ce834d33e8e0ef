// Whose request is read when, and how much requests hold at most.
#include "server/rpc/request_budget.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace trainctl::rpc {
namespace {

using Names = std::vector<std::string>;

constexpr int64_t kLargest = RequestBudget::kLargest;
constexpr RequestBudget::Bounds kFew{
    .calls = 6, .calls_of_user = 4, .bytes = 3 * kLargest, .bytes_of_user = 2 * kLargest};

class RequestBudgetTest : public testing::Test {
 protected:
  // Its name is in read_ from when its request may be read.
  RequestBudget::Call Ask(const std::string& user) {
    const auto call = budget_.Enter(user);
    EXPECT_TRUE(call.ok()) << call.error().message;
    budget_.Reserve(*call, [this, user] { read_.push_back(user); });
    return *call;
  }

  RequestBudget budget_{kFew};
  Names read_;
};

TEST_F(RequestBudgetTest, OneUsersRequestsLeaveRoomForOthers) {
  for (int i = 0; i < 4; ++i) Ask("eve");
  EXPECT_EQ(read_, (Names{"eve", "eve"}));
  Ask("anna");
  EXPECT_EQ(read_, (Names{"eve", "eve", "anna"}));
  EXPECT_EQ(budget_.bytes(), kFew.bytes);
}

TEST_F(RequestBudgetTest, WhoHoldsLeastIsNextWhoeverCameFirst) {
  const auto first = Ask("eve");
  Ask("eve");
  const auto hers = Ask("mallory");
  Ask("mallory");
  Ask("anna");
  read_.clear();
  budget_.Leave(hers);
  EXPECT_EQ(read_, (Names{"mallory"})) << "both hold nothing, and it came first";
  budget_.Leave(first);
  EXPECT_EQ(read_, (Names{"mallory", "anna"}));
}

TEST_F(RequestBudgetTest, ASmallRequestMakesRoomOnceItCame) {
  const auto small = Ask("eve");
  Ask("eve");
  Ask("eve");
  EXPECT_EQ(read_.size(), 2u);
  budget_.Shrink(small, 100);
  EXPECT_EQ(read_.size(), 2u) << "100 bytes too many for a third";
  budget_.Shrink(small, 0);
  EXPECT_EQ(read_.size(), 3u);
  EXPECT_EQ(budget_.bytes(), 2 * kLargest);
}

TEST_F(RequestBudgetTest, ACallThatWasWithdrawnIsNotRead) {
  const auto first = Ask("eve");
  Ask("eve");
  const auto waits = Ask("eve");
  EXPECT_FALSE(budget_.Withdraw(first)) << "it is being read";
  EXPECT_TRUE(budget_.Withdraw(waits));
  budget_.Leave(waits);
  budget_.Leave(first);
  EXPECT_EQ(read_.size(), 2u);
  EXPECT_EQ(budget_.bytes(), kLargest);
}

TEST_F(RequestBudgetTest, CallsAreBoundedForEachUserAndForAllInTheirWords) {
  for (int i = 0; i < 4; ++i) Ask("eve");
  const auto refused = budget_.Enter("eve");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, base::Code::kExhausted);
  EXPECT_EQ(refused.error().message,
            "eve has 4 calls that wait already, and may not have more: try again when some are "
            "answered");
  const auto call = Ask("anna");
  Ask("bob");
  const auto full = budget_.Enter("carl");
  ASSERT_FALSE(full.ok());
  EXPECT_EQ(full.error().message, "6 calls wait already: try again in a moment");
  budget_.Leave(call);
  EXPECT_TRUE(budget_.Enter("carl").ok());
}

}  // namespace
}  // namespace trainctl::rpc
