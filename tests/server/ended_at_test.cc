// A job has ended when its last rank did, however late the coordinator hears of it.
#include <gtest/gtest.h>

#include <limits>
#include <optional>

#include "server/core/step.h"

namespace trainctl::core {
namespace {

constexpr int64_t kSeconds = 1'000'000;

// When a job ended that is placed at 100 s. At 1,000 s the worker says how long ago its rank ended.
// The device is free again 10 s later.
std::optional<base::WallMicros> EndedAt(int64_t age_us) {
  State state;
  WorkerHello hello;
  hello.worker.host = "a";
  hello.worker.name = "a/0";
  hello.device_free = true;
  const auto at = [](int64_t seconds) { return Now{seconds * kSeconds, seconds * kSeconds}; };
  Step(state, hello, at(100));
  Step(state, JobsSubmitted{"r", "", {{job::JobSpec(), job::Inspection(), std::nullopt}}}, at(100));
  const job::RankKey rank{{1}, 1, 0};
  std::optional<base::WallMicros> ended_at, attempt_ended_at;
  const auto step = [&](const Event& event, int64_t seconds) {
    for (const Persist& row : Step(state, event, at(seconds)).persist) {
      const auto* job = std::get_if<UpdateJob>(&row);
      if (job != nullptr && job->status.state == job::JobState::kFinished)
        ended_at = job->status.ended_at / kSeconds;
      const auto* attempt = std::get_if<AttemptRow>(&row);
      if (attempt != nullptr) attempt_ended_at = attempt->ended_at / kSeconds;
    }
  };
  step(RankReported{"a/0", rank, 1, job::RankOutcome{job::Outcome::kSucceeded, "", {}}}, 1000);
  step(RankReported{"a/0", rank, 2, job::RankExit{.exit_code = 0, .age_us = age_us}}, 1000);
  step(DeviceStateChanged{"a/0", true, ""}, 1010);
  EXPECT_EQ(attempt_ended_at, ended_at);
  EXPECT_TRUE(state.jobs.empty());
  return ended_at;
}

TEST(EndedAt, IsWhenTheLastRankEndedByItsWorkersWord) {
  EXPECT_EQ(EndedAt(0), 1000);
  EXPECT_EQ(EndedAt(300 * kSeconds), 700);
}

TEST(EndedAt, IsNeitherBeforeThePlacementNorInTheFuture) {
  EXPECT_EQ(EndedAt(901 * kSeconds), 100);
  EXPECT_EQ(EndedAt(std::numeric_limits<int64_t>::max()), 100);
  EXPECT_EQ(EndedAt(-5 * kSeconds), 1000);
  EXPECT_EQ(EndedAt(std::numeric_limits<int64_t>::min()), 1000);
}

}  // namespace
}  // namespace trainctl::core
