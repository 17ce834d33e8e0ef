// Whose answers go where too many are not read.
#include "server/rpc/answer_budget.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace trainctl::rpc {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr int64_t kMiB = 1 << 20, kOne = kMiB - AnswerBudget::kLeast;
constexpr AnswerBudget::Bounds kSmall{
    .bytes = 6 * kMiB, .bytes_of_user = 3 * kMiB, .patience_us = 1000};

class AnswerBudgetTest : public testing::Test {
 protected:
  // An answer whose name is in ended_ once its call was ended.
  AnswerBudget::Answer Answer(const std::string& user, const std::string& name,
                              int64_t bytes = kOne, base::SteadyMicros now = 0) {
    const auto entered = budget_.Enter(user, bytes, now, [this, name](const base::Error& error) {
      ended_.push_back(name);
      last_ = error;
    });
    EXPECT_TRUE(entered.ok()) << entered.error().message;
    return entered.ok() ? *entered : 0;
  }

  AnswerBudget budget_{kSmall};
  std::vector<std::string> ended_;
  base::Error last_;
};

TEST_F(AnswerBudgetTest, AUsersOldestGoesWhereTheUserHasTooMuch) {
  for (const char* name : {"e1", "e2", "e3"}) Answer("eve", name);
  EXPECT_THAT(ended_, IsEmpty());
  Answer("eve", "e4");
  EXPECT_THAT(ended_, ElementsAre("e1"));
  EXPECT_EQ(last_.code, base::Code::kExhausted);
  EXPECT_THAT(last_.message, HasSubstr("clients of eve"));
  EXPECT_EQ(budget_.bytes(), 3 * kMiB);
}

TEST_F(AnswerBudgetTest, WhatWasReadCountsNoMore) {
  const auto first = Answer("eve", "e1");
  Answer("eve", "e2");
  budget_.Leave(first);
  budget_.Leave(first);
  EXPECT_EQ(budget_.bytes(), kMiB);
  for (const char* name : {"e3", "e4"}) Answer("eve", name);
  EXPECT_THAT(ended_, IsEmpty());
}

TEST_F(AnswerBudgetTest, WhoHoldsMostMakesRoomForOthers) {
  for (const char* name : {"e1", "e2", "e3"}) Answer("eve", name);
  for (const char* name : {"m1", "m2"}) Answer("mallory", name);
  Answer("anna", "a1");
  EXPECT_THAT(ended_, IsEmpty());
  Answer("bob", "b1");
  EXPECT_THAT(ended_, ElementsAre("e1")) << "neither anna nor bob";
  EXPECT_EQ(budget_.bytes(), kSmall.bytes);
}

TEST_F(AnswerBudgetTest, ALargeAnswerGoesAloneAndOneBeyondAllIsRefused) {
  Answer("anna", "a1");
  Answer("anna", "large", 4 * kMiB);
  EXPECT_THAT(ended_, ElementsAre("a1"));
  const auto refused = budget_.Enter("bob", kSmall.bytes, 0, [](const base::Error&) {});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, base::Code::kExhausted);
  EXPECT_THAT(ended_, ElementsAre("a1"));
}

TEST_F(AnswerBudgetTest, WhoReadsNothingIsEndedInItsTime) {
  Answer("eve", "small", 0, 10);
  Answer("eve", "large", kOne, 10);
  Answer("eve", "later", 0, 500);
  budget_.EndStalled(1009);
  EXPECT_THAT(ended_, IsEmpty());
  budget_.EndStalled(1010);
  EXPECT_THAT(ended_, ElementsAre("small"));
  EXPECT_EQ(last_.code, base::Code::kUnavailable);
  budget_.EndStalled(1500);
  EXPECT_THAT(ended_, ElementsAre("small", "later"));
  budget_.EndStalled(3010);
  EXPECT_THAT(ended_, ElementsAre("small", "later", "large"));
  EXPECT_EQ(budget_.bytes(), 0);
}

TEST_F(AnswerBudgetTest, SmallAnswersAreBoundedToo) {
  for (int64_t i = 0; i <= kSmall.bytes_of_user / AnswerBudget::kLeast; ++i)
    Answer("eve", std::to_string(i), 1);
  EXPECT_LE(budget_.bytes(), kSmall.bytes_of_user);
  EXPECT_FALSE(ended_.empty());
}

}  // namespace
}  // namespace trainctl::rpc
