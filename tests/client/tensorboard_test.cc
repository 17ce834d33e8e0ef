#include "common/track/tensorboard_events.h"

#include "client/exit_code.h"
#include "common/track/proto_wire.h"
#include "tests/client/client_test.h"
#include "tests/client/scratch_folder.h"
#include "tests/client/trackers.h"

namespace trainctl::client {
namespace {

using track::Crc32;
using track::Crc32c;
using track::EventFileHead;
using track::ScalarEvent;

TEST(TensorboardEvents, TheSumIsThatOfTheStandard) {
  EXPECT_EQ(Crc32c("123456789"), 0xE3069283u);
  EXPECT_EQ(Crc32c(std::string(32, '\0')), 0x8A9136AAu);  // RFC 3720, B.4
  EXPECT_EQ(Crc32c(""), 0u);
  EXPECT_EQ(Crc32("123456789"), 0xCBF43926u);
}

// The first record of every file that TensorFlow writes, but for its time.
TEST(TensorboardEvents, AFileBeginsWithItsVersion) {
  const std::string head = EventFileHead(1'000'000);
  ASSERT_EQ(head.size(), 8u + 4 + 24 + 4);
  EXPECT_EQ(head.substr(0, 8), std::string("\x18\0\0\0\0\0\0\0", 8));
  EXPECT_EQ(head.substr(8, 4), "\xA3\x7F\x4B\x22");
  EXPECT_EQ(head.substr(12, 24),
            std::string("\x09\0\0\0\0\0\0\xF0\x3F\x1A\x0D", 11) + "brain.Event:2");
}

v1::MetricPoint ScalarPoint(const std::string& name, int64_t step, double value) {
  v1::MetricPoint point;
  point.set_name(name);
  point.set_step(step);
  point.set_value(value);
  point.set_time(1'500'000 + step);
  return point;
}

class TensorboardTest : public ClientTest {
 protected:
  TensorboardTest() {
    coordinator_.jobs = {FinishedJob("j1", "full run", "SUCCEEDED")};
    coordinator_.points = {ScalarPoint("loss", 0, 2.5), ScalarPoint("loss", 300, 1.25),
                           ScalarPoint("memory_params_bytes", 1, 1024)};
    coordinator_.points[2].set_rank(1);
    coordinator_.points[2].set_phase("after_forward");
  }

  Ended Export(std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"export", "j1", "--tensorboard", folder_ / "tb"});
    return Trainctl(more);
  }

  ScratchFolder folder_;
};

TEST_F(TensorboardTest, AJobIsARunOfItsOwn) {
  const Ended ended = Export();
  EXPECT_EQ(ended.code, 0) << ended.err;
  const std::string file = folder_.Read("tb/j1-full_run/events.out.tfevents.950.j1");
  EXPECT_EQ(file.substr(0, 40), EventFileHead(950'000'000));
  EXPECT_EQ(file.substr(40),
            ScalarEvent("loss", 0, 2.5, 1'500'000) + ScalarEvent("loss", 300, 1.25, 1'500'300) +
                ScalarEvent("memory_params_bytes/rank_1/after_forward", 1, 1024, 1'500'001));
  EXPECT_NE(ended.out.find("tensorboard --logdir " + (folder_ / "tb")), std::string::npos)
      << ended.out;
}

TEST_F(TensorboardTest, AFolderWithOtherFilesIsNeverReplaced) {
  EXPECT_EQ(Export().code, 0);
  EXPECT_EQ(Export().code, kExitFailure);
  EXPECT_EQ(Export({"--overwrite"}).code, 0);
  folder_.Write("mine/file", "text");
  EXPECT_EQ(Trainctl({"export", "j1", "--tensorboard", folder_ / "mine", "--overwrite"}).code,
            kExitFailure);
  EXPECT_EQ(Trainctl({"export", "j1"}).code, kExitUsage);
  EXPECT_EQ(Export({folder_ / "other"}).code, kExitUsage) << "one kind at a time";
}

TEST_F(TensorboardTest, TheRealTensorboardReadsIt) {
  const std::string python = TrackersPython();
  if (python.empty()) GTEST_SKIP() << "no TensorBoard: tests/oracles trackers makes it ready";
  ASSERT_EQ(Export().code, 0);
  EXPECT_EQ(PrintedBy(python, "read_events.py", folder_ / "tb"),
            "j1-full_run loss 0 2.5 1.5\n"
            "j1-full_run loss 300 1.25 1.5003\n"
            "j1-full_run memory_params_bytes/rank_1/after_forward 1 1024 1.5\n");
}

}  // namespace
}  // namespace trainctl::client
