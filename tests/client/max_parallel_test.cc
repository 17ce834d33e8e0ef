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
