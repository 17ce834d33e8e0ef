// The end of a job that runs is asked for twice in `trainctl top`.
#include "client/top/picture.h"
#include "client/top/state.h"
#include "tests/client/client_test.h"

namespace trainctl::client {
namespace {

class TopCancelTest : public ::testing::Test {
 protected:
  TopCancelTest() {
    v1::JobView job;
    job.set_id("j2");
    job.set_name("tiny");
    job.set_owner("ann");
    job.set_state("RUNNING");
    job.set_started_at(1'000'000);
    site_.time = 84'000'000;
    site_.running.push_back(job);
  }

  TopAction Press(char letter) { return Obey({KeyKind::kCharacter, letter}, site_, &state_); }
  std::string LastRow() { return SitePicture(site_, {.columns = 100, .rows = 10}, &state_).back(); }

  SiteView site_;
  TopState state_{.selected = "j2"};
};

TEST_F(TopCancelTest, TheSecondQuestionSaysWhoseItIsAndHowLongItHasTrained) {
  Press('c');
  EXPECT_NE(LastRow().find("End tiny (j2)?"), std::string::npos) << LastRow();
  EXPECT_EQ(Press('y'), TopAction::kNone);
  EXPECT_NE(LastRow().find("Really? tiny (j2) of ann has trained for 1:23."), std::string::npos)
      << LastRow();
  EXPECT_EQ(Press('y'), TopAction::kCancel);
}

TEST_F(TopCancelTest, AConfirmationIsNotKeptForLater) {
  for (const char key : {'c', 'y', 'n', 'c'}) Press(key);
  EXPECT_EQ(Press('y'), TopAction::kNone);
  EXPECT_EQ(Press('y'), TopAction::kCancel);
}

TEST_F(TopCancelTest, OneThatWaitsIsAskedOfOnce) {
  std::swap(site_.queued, site_.running);
  site_.queued[0].set_state("QUEUED");
  Press('c');
  EXPECT_EQ(Press('y'), TopAction::kCancel);
}

}  // namespace
}  // namespace trainctl::client
