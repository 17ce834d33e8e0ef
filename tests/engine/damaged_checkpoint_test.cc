// A checkpoint whose bytes changed on the disk: the attempt says so, and goes on from the one
// before it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "tests/engine/rank_process.h"

namespace trainctl::engine_test {
namespace {

class DamagedCheckpointTest : public RankTest {
 protected:
  DamagedCheckpointTest() {
    plan_.job.deterministic = true;
    plan_.job.output.dir = folder_ / "out";
    plan_.job.checkpoint = {.every_steps = 2, .keep_last = 2};
    plan_.job.train.max_steps = 6;
  }

  fs::path Checkpoint(int step) const {
    return folder_ / "out" / "checkpoints" / ("step-" + std::to_string(step));
  }

  // A bit of the only rank's file, so far from its end (or its begin, where negative).
  static void FlipByte(const fs::path& checkpoint, int64_t from_end) {
    const fs::path path = checkpoint / "rank-0-of-1.safetensors";
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    const auto size = static_cast<int64_t>(fs::file_size(path));
    const int64_t at = from_end < 0 ? -from_end : size - from_end;
    file.seekg(at);
    const auto byte = static_cast<char>(file.get() ^ 1);
    file.seekp(at);
    file.put(byte);
    ASSERT_TRUE(file.good());
  }

  // The run to step 6, a flipped byte in what it saved last, and the next attempt. The schedule is
  // that of all steps, so losses of the same steps are equal.
  void ExpectOlderServes(int64_t from_end) {
    const RankEnd whole = Run();
    ASSERT_EQ(whole.outcome().outcome, job::Outcome::kSucceeded) << whole.outcome().message;
    ASSERT_TRUE(fs::exists(Checkpoint(4)));
    FlipByte(Checkpoint(6), from_end);
    plan_.attempt = 2;
    const RankEnd end = Run();
    ASSERT_EQ(end.outcome().outcome, job::Outcome::kSucceeded) << end.outcome().message;
    EXPECT_TRUE(fs::exists(Checkpoint(6).string() + ".damaged"));
    EXPECT_TRUE(fs::exists(Checkpoint(6) / "manifest.json"));  // written anew
    const auto notices = end.All<job::RankNotice>();
    ASSERT_GE(notices.size(), 2u);
    EXPECT_THAT(notices[0].text, ::testing::HasSubstr("step-6.damaged"));
    EXPECT_THAT(notices[1].text, ::testing::HasSubstr("goes on from"));
    const auto expected = whole.Points("loss"), again = end.Points("loss");
    ASSERT_EQ(again.size(), 2u);
    for (size_t i = 0; i < 2; ++i) EXPECT_EQ(again[i].value, expected[4 + i].value);
  }
};

TEST_F(DamagedCheckpointTest, AfterAFlippedValueTheOlderServes) { ExpectOlderServes(5); }

TEST_F(DamagedCheckpointTest, AfterAFlippedHeaderTheOlderServes) { ExpectOlderServes(-40); }

TEST_F(DamagedCheckpointTest, OneThatTheJobNamesIsNotReplacedByAnother) {
  ASSERT_EQ(Run().outcome().outcome, job::Outcome::kSucceeded);
  FlipByte(Checkpoint(6), 5);
  plan_.job.train.max_steps = 8;
  plan_.job.checkpoint.resume_from = Checkpoint(6);
  const RankEnd end = Run();
  EXPECT_EQ(end.outcome().outcome, job::Outcome::kFailed);
  EXPECT_THAT(end.outcome().message, ::testing::HasSubstr("the file is damaged"));
  EXPECT_THAT(end.outcome().message, ::testing::HasSubstr("name an older one"));
  EXPECT_TRUE(fs::exists(Checkpoint(6)));
}

}  // namespace
}  // namespace trainctl::engine_test
