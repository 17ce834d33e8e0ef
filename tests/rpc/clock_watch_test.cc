// That the coordinator's clock is set is survived, and said.
#include "server/coordinator/clock_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

#include "server/daemon/daemon.h"
#include "tests/rpc/test_site.h"

namespace trainctl::coordinator {
namespace {

constexpr int64_t kSecond = 1'000'000;

TEST(ClockWatch, WhatGoesOnTogetherIsNoJump) {
  ClockWatch watch;
  EXPECT_EQ(watch.Look(1000 * kSecond, 5 * kSecond), std::nullopt) << "the first look";
  EXPECT_EQ(watch.Look(4600 * kSecond, 3605 * kSecond), std::nullopt);
  EXPECT_EQ(watch.Look(4605 * kSecond - 1, 3605 * kSecond), std::nullopt) << "a drift";
  EXPECT_EQ(watch.jumps(), 0);
}

TEST(ClockWatch, AClockThatIsSetIsAJumpOnceForwardAndBack) {
  ClockWatch watch;
  watch.Look(1000 * kSecond, 0);
  EXPECT_EQ(watch.Look(1006 * kSecond, kSecond), 5 * kSecond);
  EXPECT_EQ(watch.Look(1007 * kSecond, 2 * kSecond), std::nullopt);
  EXPECT_EQ(watch.Look(8 * kSecond, 3 * kSecond), -1000 * kSecond);
  EXPECT_EQ(watch.jumps(), 2);
}

// Wall time is what the test sets. Thread-safe.
class SetClock : public base::SystemClock {
 public:
  base::WallMicros Wall() const override { return SystemClock::Wall() + set_; }
  void Set(int64_t by) { set_ += by; }

 private:
  std::atomic<int64_t> set_ = 0;
};

// Thread-safe.
class KeepingLog : public EventLog {
 public:
  void Write(Level level, std::string_view event, std::initializer_list<Field> fields) override {
    if (level != Level::kWarning || event != "clock_was_set") return;
    const std::lock_guard lock(mutex_);
    for (const Field& field : fields) said_ += " " + std::string(field.key) + "=" + field.value;
  }
  std::string said() const {
    const std::lock_guard lock(mutex_);
    return said_;
  }

 private:
  mutable std::mutex mutex_;
  std::string said_;
};

TEST(ClockWatch, ACoordinatorWhoseClockIsSetSaysSoAndGoesOn) {
  const rpc_test::TemporaryFolder folder;
  SetClock clock;
  KeepingLog log;
  Options options;
  options.listen = "127.0.0.1:0";
  options.directory = folder.path();
  const auto daemon = Daemon::Start(options, clock, log);
  ASSERT_TRUE(daemon.ok()) << daemon.error().message;
  clock.Set(-3600 * kSecond);
  const auto deadline = std::chrono::steady_clock::now() + rpc_test::kDeadline;
  while (log.said().empty() && std::chrono::steady_clock::now() < deadline)
    std::this_thread::yield();
  EXPECT_THAT(log.said(), testing::MatchesRegex(" seconds=-3(600|599) it_is=.* UTC"));
}

}  // namespace
}  // namespace trainctl::coordinator
