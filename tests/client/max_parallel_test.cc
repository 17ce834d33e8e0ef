// At most so many jobs of a lab file or sweep at once.
#include "client/exit_code.h"
#include "tests/client/submit_fixture.h"

namespace trainctl::client {
namespace {

TEST_F(SubmitTest, ALabsBoundGoesWithItsJobs) {
  const std::string lab = File("lab.json", kLab);
  ASSERT_EQ(Trainctl({"submit", lab, "--max-parallel", "2"}).code, kExitOk);
  EXPECT_EQ(coordinator_.submissions.at(0).max_parallel(), 2);
  ASSERT_EQ(Trainctl({"submit", lab}).code, kExitOk);
  EXPECT_EQ(coordinator_.submissions.at(1).max_parallel(), 0);
}

TEST_F(SubmitTest, ASweepsBoundGoesWithItsJobs) {
  const std::string job = File("tiny.json", kJob);
  const Ended ended = Trainctl({"sweep", job, "--set", "seed=1,2,3", "--max-parallel", "1"});
  ASSERT_EQ(ended.code, kExitOk) << ended.err;
  EXPECT_EQ(coordinator_.submissions.at(0).max_parallel(), 1);
}

// "All of it: 2 s predicted for 2 experiments on 1 device."
std::string WholeTime(const std::string& text) {
  const size_t at = text.find("All of it: ");
  return at == std::string::npos ? "" : text.substr(at, text.find('\n', at) - at);
}

TEST_F(SubmitTest, ASubmittedGroupIsToldHowLongAllOfItTakes) {
  const std::string lab = File("my-lab.json", kLab), job = File("tiny.json", kJob);
  const std::string foreseen = WholeTime(Trainctl({"submit", lab, "--dry-run"}).out);
  EXPECT_NE(foreseen.find("predicted for 2 experiments on 2 devices."), std::string::npos);
  EXPECT_EQ(WholeTime(Trainctl({"submit", lab}).out), foreseen);
  const std::string in_turn = WholeTime(Trainctl({"submit", lab, "--max-parallel", "1"}).out);
  EXPECT_NE(in_turn.find("for 2 experiments on 1 device."), std::string::npos) << in_turn;
  for (const char* verb : {"submit", "sweep"}) {
    const std::string text = Trainctl({verb, job, "--matrix", "train.micro_batch_size=1,2,4"}).out;
    EXPECT_NE(WholeTime(text).find("predicted for 3 experiments"), std::string::npos) << text;
  }
  EXPECT_EQ(WholeTime(Trainctl({"submit", job}).out), "");
}

TEST_F(SubmitTest, ABoundOfOneJobOrOfNoneIsRefused) {
  const std::string job = File("tiny.json", kJob);
  EXPECT_EQ(Trainctl({"submit", job, "--max-parallel", "2"}).code, kExitUsage);
  const std::string lab = File("lab.json", kLab);
  EXPECT_EQ(Trainctl({"submit", lab, "--max-parallel", "0"}).code, kExitUsage);
  EXPECT_EQ(Trainctl({"submit", lab, "--max-parallel", "0", "--dry-run"}).code, kExitUsage);
  EXPECT_TRUE(coordinator_.submissions.empty());
}

}  // namespace
}  // namespace trainctl::client
