#include "worker/agent/worker_folder.h"

#include <gmock/gmock.h>

#include <cerrno>
#include <filesystem>

#include "common/base/file.h"
#include "tests/shim/temp_folder.h"

namespace trainctl::agent {
namespace {

class WorkerFolderTest : public testing::Test {
 protected:
  tests::TempFolder folder_;
  const std::string directory_ = folder_.path() + "/worker";
};

TEST_F(WorkerFolderTest, HasOneIdentityForLife) {
  EXPECT_EQ(TakeFolder(directory_, "one")->identity, "one");
  EXPECT_EQ(TakeFolder(directory_, "two")->identity, "one");
  EXPECT_EQ(TakeFolder(folder_.path() + "/other", "two")->identity, "two");
}

TEST_F(WorkerFolderTest, IsForOneWorkerAtATime) {
  const auto held = TakeFolder(directory_, "one");
  ASSERT_TRUE(held);
  EXPECT_EQ(TakeFolder(directory_, "two").error().code, base::Code::kConflict);
}

TEST_F(WorkerFolderTest, ACopyIsNoOnesFolder) {
  ASSERT_TRUE(TakeFolder(directory_, "one"));
  const std::string copy = folder_.path() + "/copy";
  std::filesystem::copy(directory_, copy, std::filesystem::copy_options::recursive);
  const auto taken = TakeFolder(copy, "two");
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code, base::Code::kConflict);
  EXPECT_THAT(taken.error().message, testing::HasSubstr(copy + " is a copy"));
  std::filesystem::rename(directory_, folder_.path() + "/renamed");
  EXPECT_EQ(TakeFolder(folder_.path() + "/renamed", "two")->identity, "one");
}

TEST_F(WorkerFolderTest, ADamagedRecordMakesItAnotherFolder) {
  ASSERT_TRUE(TakeFolder(directory_, "one"));
  for (const char* damage : {"", "{", "{\"identity\": 3, \"lock_inode\": 1}"}) {
    ASSERT_TRUE(base::WriteFileAtomically(directory_ + "/worker.json", damage));
    EXPECT_EQ(TakeFolder(directory_, "two")->identity, "two") << damage;
  }
}

TEST(WhyUnwritable, SaysWhatIsUsedUp) {
  EXPECT_EQ(WhyUnwritable("/w", ENOSPC), "no space left on /w");
  EXPECT_EQ(WhyUnwritable("/w", EDQUOT), "the disk quota is used up on /w");
  EXPECT_EQ(WhyUnwritable("/w", EIO), "cannot write /w: Input/output error");
}

}  // namespace
}  // namespace trainctl::agent
