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
  const std::string record_ = directory_ + "/worker.json", lock_ = directory_ + "/worker.lock";
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

constexpr const char* kDamages[] = {"", "{", "{\"identity\": 3, \"lock_inode\": 1}"};

TEST_F(WorkerFolderTest, ARecordThatIsLostOrDamagedIsMadeAnew) {
  ASSERT_TRUE(TakeFolder(directory_, "one"));
  std::filesystem::remove(record_);
  EXPECT_EQ(TakeFolder(directory_, "two")->identity, "one");
  const std::string whole = base::ReadFile(record_, 1000).value();
  for (const char* damage : kDamages) {
    ASSERT_TRUE(base::WriteFileAtomically(record_, damage));
    EXPECT_EQ(TakeFolder(directory_, "two")->identity, "one") << damage;
    EXPECT_EQ(base::ReadFile(record_, 1000).value(), whole);
  }
}

TEST_F(WorkerFolderTest, ALockOfAnEarlierVersionGetsTheIdentity) {
  ASSERT_TRUE(TakeFolder(directory_, "one"));
  std::filesystem::resize_file(lock_, 0);
  EXPECT_EQ(TakeFolder(directory_, "two")->identity, "one");
  std::filesystem::remove(record_);
  EXPECT_EQ(TakeFolder(directory_, "three")->identity, "one");
}

TEST_F(WorkerFolderTest, WhereBothAreDamagedRanksAreNotTouched) {
  ASSERT_TRUE(TakeFolder(directory_, "one"));
  std::filesystem::create_directory(directory_ + "/ranks/j1-1-0");
  for (const char* damage : kDamages) {
    ASSERT_TRUE(base::WriteFileAtomically(record_, damage));
    std::filesystem::resize_file(lock_, 0);
    const auto taken = TakeFolder(directory_, "two");
    ASSERT_FALSE(taken) << damage;
    EXPECT_EQ(taken.error().code, base::Code::kConflict);
    EXPECT_THAT(taken.error().message, testing::HasSubstr(record_ + " and " + lock_));
  }
  std::filesystem::remove(record_);
  EXPECT_FALSE(TakeFolder(directory_, "two"));
  std::filesystem::remove(lock_);
  EXPECT_EQ(TakeFolder(directory_, "two")->identity, "two") << "both were removed, as it is told";
}

TEST_F(WorkerFolderTest, WhereBothAreDamagedAndNothingRanItIsANewOne) {
  ASSERT_TRUE(TakeFolder(directory_, "one"));
  std::filesystem::resize_file(record_, 0);
  std::filesystem::resize_file(lock_, 0);
  EXPECT_EQ(TakeFolder(directory_, "two")->identity, "two");
}

TEST(WhyUnwritable, SaysWhatIsUsedUp) {
  EXPECT_EQ(WhyUnwritable("/w", ENOSPC), "no space left on /w");
  EXPECT_EQ(WhyUnwritable("/w", EDQUOT), "the disk quota is used up on /w");
  EXPECT_EQ(WhyUnwritable("/w", EIO), "cannot write /w: Input/output error");
}

}  // namespace
}  // namespace trainctl::agent
