#include "server/coordinator/wait_texts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace trainctl::coordinator {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// What it says of the first job, whose file can't be read from then on.
class WaitTextsTest : public ::testing::Test {
 protected:
  WaitTextsTest() {
    state_.jobs[{1}].row.id = {1};
    EXPECT_THAT(At(0), Not(HasSubstr("can't be read")));
    state_.jobs[{1}].row.unreadable = {.why = "of tomorrow"};
  }
  const std::string& At(base::SteadyMicros steady) {
    return texts_.Of(state_, state_.jobs.at({1}), {0, steady}).reason;
  }

  core::State state_;
  WaitTexts texts_;
};

TEST_F(WaitTextsTest, AreMadeOnceForAllWhoLookUntilTheStateHasChanged) {
  EXPECT_THAT(At(WaitTexts::kMaxAge), Not(HasSubstr("can't be read")));
  texts_.Forget();
  EXPECT_THAT(At(WaitTexts::kMaxAge), HasSubstr("can't be read"));
}

TEST_F(WaitTextsTest, AreMadeAnewWhenTheyAreOld) {
  EXPECT_THAT(At(WaitTexts::kMaxAge + 1), HasSubstr("can't be read"));
}

}  // namespace
}  // namespace trainctl::coordinator
