#include "worker/rank/state/room_wait.h"

#include <gtest/gtest.h>

namespace trainctl::train {
namespace {

// Each look at it takes twenty minutes.
class HastyClock : public base::Clock {
 public:
  base::WallMicros Wall() const override { return 0; }
  base::SteadyMicros Steady() const override { return now_ += 1'200'000'000; }

 private:
  mutable base::SteadyMicros now_ = 0;
};

const base::Error kFull{base::Code::kExhausted, "No space left on device"};
constexpr char kNoRoom[] = "/proc";  // no byte is free there

TEST(RoomWait, TriesAgainWithoutSeeingRoomAndGivesUpAfterAnHour) {
  const HastyClock clock;
  Reporter reporter(-1, clock, 0);
  const Commands commands(-1);
  RoomWait room(reporter, commands, clock);
  EXPECT_TRUE(room.Await(kFull, kNoRoom, 1)) << "a quota may have changed";
  EXPECT_FALSE(room.Await(kFull, kNoRoom, 1));
}

TEST(RoomWait, WhoIsToStopWaitsNoMore) {
  const base::FakeClock clock;
  Reporter reporter(-1, clock, 0);
  Commands commands(-1);
  commands.RequestStop();
  RoomWait room(reporter, commands, clock);
  EXPECT_FALSE(room.Await(kFull, kNoRoom, 1));
}

}  // namespace
}  // namespace trainctl::train
