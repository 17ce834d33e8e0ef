// What has passed is counted by the coordinator's clock, though the one here be days off.
#include <gmock/gmock.h>

#include "tests/client/client_test.h"

namespace trainctl::client {
namespace {

using testing::HasSubstr;

class SiteTimeTest : public ClientTest {
 protected:
  static constexpr int64_t kSecond = 1'000'000, kDay = 86'400 * kSecond;

  v1::JobView& Add(const std::string& id, const std::string& state) {
    v1::JobView view;
    view.set_id(id);
    view.set_name("of " + id);
    view.set_state(state);
    view.set_devices(1);
    view.set_submitted_at(30 * kDay);
    view.set_told_at(30 * kDay + 75 * kSecond);
    if (state == "RUNNING") {
      view.set_started_at(30 * kDay + 10 * kSecond);
      view.add_placement("a/0");
    }
    coordinator_.jobs.push_back(view);
    coordinator_.details[id];
    return coordinator_.jobs.back();
  }
};

TEST_F(SiteTimeTest, OfARunAndOfAWait) {
  Add("j1", "RUNNING");
  EXPECT_THAT(Trainctl({"status"}).out, HasSubstr(" 1:05 "));
  EXPECT_THAT(Trainctl({"describe", "j1"}).out, HasSubstr("1:05"));
  EXPECT_THAT(Trainctl({"explain", "j1"}).out, HasSubstr("1:05, since 1970-01-31 00:00:10"));
  Add("j2", "QUEUED");
  EXPECT_THAT(Trainctl({"explain", "j2"}).out, HasSubstr("1:15, since 1970-01-31"));
}

TEST_F(SiteTimeTest, OfAnOlderCoordinatorItIsTheClockHere) {
  v1::JobView& view = Add("j1", "RUNNING");
  view.clear_told_at();
  view.set_started_at(clock_.Wall() - 65 * kSecond);
  EXPECT_THAT(Trainctl({"status"}).out, HasSubstr(" 1:05 "));
}

}  // namespace
}  // namespace trainctl::client
