#include "worker/rank/files/output_owner.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "common/job/output_folder.h"

namespace trainctl::files {
namespace {

namespace fs = std::filesystem;

class OutputOwnerTest : public ::testing::Test {
 protected:
  OutputOwnerTest() : folder_(fs::temp_directory_path() / ("owner." + std::to_string(getpid()))) {}
  ~OutputOwnerTest() override { fs::remove_all(folder_); }

  job::RankPlan Plan(int number) const {
    job::RankPlan plan{.site = "site", .job_id = "j" + std::to_string(number)};
    plan.job.name = "tiny";
    plan.job.output = {.dir = folder_, .save = job::Save::kFinal};
    return plan;
  }
  // Processes that begin at the same moment; how many of them could take the folder.
  int TakeAtOnce(const std::vector<job::RankPlan>& plans) const {
    int gate[2];
    EXPECT_EQ(pipe(gate), 0);
    std::vector<pid_t> children;
    for (const job::RankPlan& plan : plans) {
      const pid_t child = fork();
      if (child == 0) {
        char byte = 0;
        close(gate[1]);
        static_cast<void>(read(gate[0], &byte, 1));
        _exit(TakeOutput(plan).ok() ? 0 : 1);
      }
      children.push_back(child);
    }
    close(gate[0]);
    close(gate[1]);
    int winners = 0;
    for (const pid_t child : children) {
      int status = 0;
      waitpid(child, &status, 0);
      winners += WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 1 : 0;
    }
    return winners;
  }

  const std::string folder_;
};

TEST_F(OutputOwnerTest, OfCoordinatorsThatTakeAFolderAtOnceOneSucceeds) {
  for (int round = 0; round < 20; ++round) {
    std::vector<job::RankPlan> plans(8, Plan(1));
    for (size_t i = 0; i < plans.size(); ++i) plans[i].site = "site" + std::to_string(i);
    EXPECT_EQ(TakeAtOnce(plans), 1);
    fs::remove_all(folder_);
  }
}

TEST_F(OutputOwnerTest, OfJobsThatGoOnFromOneJobAtOnceOneSucceeds) {
  for (int round = 0; round < 20; ++round) {
    ASSERT_TRUE(TakeOutput(Plan(1)).ok());
    fs::create_directories(folder_ + "/checkpoints/step-2");
    std::vector<job::RankPlan> plans;
    for (int number = 2; number < 10; ++number) {
      plans.push_back(Plan(number));
      plans.back().job.checkpoint.resume_job = "j1";
      plans.back().ended_jobs = {"j1"};
    }
    EXPECT_EQ(TakeAtOnce(plans), 1);
    EXPECT_FALSE(CheckOwnsOutput(Plan(1)).ok());
    fs::remove_all(folder_);
  }
}

TEST_F(OutputOwnerTest, ALaterAttemptHasTheFolderStill) {
  ASSERT_TRUE(TakeOutput(Plan(1)).ok());
  std::ofstream(folder_ + "/model.safetensors") << "weights";
  job::RankPlan again = Plan(1);
  again.attempt = 2;
  EXPECT_TRUE(TakeOutput(again).ok());
  EXPECT_TRUE(CheckOwnsOutput(again).ok());
  const base::Status other = TakeOutput(Plan(2));
  ASSERT_FALSE(other.ok());
  EXPECT_NE(other.error().message.find("it belongs to j1 (tiny)"), std::string::npos);
}

TEST_F(OutputOwnerTest, ALaterAttemptMakesADamagedOwnerFileAnew) {
  ASSERT_TRUE(TakeOutput(Plan(1)).ok());
  fs::create_directories(folder_ + "/checkpoints/step-2");
  std::ofstream(job::OwnerPath(folder_, 1), std::ios::trunc).close();  // as a power failure may
  const base::Status first = TakeOutput(Plan(1));
  ASSERT_FALSE(first.ok()) << "a job that begins can't know whose it is";
  EXPECT_NE(first.error().message.find("owner-1.json"), std::string::npos) << first.error().message;
  job::RankPlan again = Plan(1);
  again.attempt = 2;
  const base::Status taken = TakeOutput(again);
  ASSERT_TRUE(taken.ok()) << taken.error().message;
  EXPECT_TRUE(CheckOwnsOutput(again).ok());
  EXPECT_EQ(job::ReadOutputFolder(folder_)->claims, 2);
  EXPECT_FALSE(TakeOutput(Plan(2)).ok()) << "the folder is not free for others";
}

TEST_F(OutputOwnerTest, ARankWritesAFileOfItsOwnWhereNoOtherJobOwnsTheFolder) {
  EXPECT_TRUE(CheckNoOtherOwnsOutput(Plan(1)).ok()) << "as on a host that rank 0 does not share";
  ASSERT_TRUE(TakeOutput(Plan(1)).ok());
  EXPECT_TRUE(CheckNoOtherOwnsOutput(Plan(1)).ok());
  const base::Status refused = CheckNoOtherOwnsOutput(Plan(2));
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("is now that of j1 (tiny): nothing is written there"),
            std::string::npos)
      << refused.error().message;
}

TEST_F(OutputOwnerTest, AFolderWithoutContentsIsTakenFromAnEndedJobOnly) {
  ASSERT_TRUE(TakeOutput(Plan(1)).ok());
  job::RankPlan other = Plan(2);
  const base::Status refused = TakeOutput(other);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("j1 (tiny), which is not known to have ended"),
            std::string::npos)
      << refused.error().message;
  EXPECT_TRUE(CheckOwnsOutput(Plan(1)).ok());
  other.ended_jobs = {"j1"};
  EXPECT_TRUE(TakeOutput(other).ok());
  EXPECT_FALSE(CheckOwnsOutput(Plan(1)).ok());
}

TEST_F(OutputOwnerTest, OfJobsOfOneCoordinatorThatTakeAFolderAtOnceOneSucceeds) {
  for (int round = 0; round < 20; ++round) {
    std::vector<job::RankPlan> plans;
    for (int number = 1; number <= 8; ++number) plans.push_back(Plan(number));
    EXPECT_EQ(TakeAtOnce(plans), 1);
    fs::remove_all(folder_);
  }
}

TEST_F(OutputOwnerTest, NobodyTakesAFolderWithinAnEndedJobsModelOrAroundIt) {
  job::RankPlan inner = Plan(2);
  inner.job.output.dir = folder_ + "/sweep/a";
  inner.ended_jobs = {"j1"};
  ASSERT_TRUE(TakeOutput(Plan(1)).ok());
  std::ofstream(folder_ + "/config.json") << "{}";
  EXPECT_FALSE(TakeOutput(inner).ok());
  fs::remove_all(folder_);
  ASSERT_TRUE(TakeOutput(inner).ok());
  std::ofstream(folder_ + "/sweep/a/config.json") << "{}";
  job::RankPlan around = Plan(3);
  around.ended_jobs = {"j2"};
  EXPECT_FALSE(TakeOutput(around).ok());
}

}  // namespace
}  // namespace trainctl::files
