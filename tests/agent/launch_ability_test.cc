#include "worker/agent/launch_ability.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "common/base/file.h"
#include "tests/shim/mounts.h"
#include "tests/shim/temp_folder.h"

namespace trainctl::agent {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr base::SteadyMicros kRest = 1000;

class LaunchAbilityTest : public testing::Test {
 protected:
  LaunchAbilityTest() { std::filesystem::create_directories(folder_.path() + "/ranks"); }

  tests::TempFolder folder_;
  base::FakeClock clock_;
  LaunchAbility ability_{folder_.path(), clock_, kRest};
};

TEST_F(LaunchAbilityTest, RestsAfterEachFailureInARowForLonger) {
  EXPECT_THAT(ability_.WhyNot(), IsEmpty());
  for (const int rest : {1, 2, 4, 8, 16, 32, 32}) {
    ability_.Failed("no trainshim");
    clock_.Advance(rest * kRest - 1);
    EXPECT_THAT(ability_.WhyNot(), HasSubstr("no trainshim")) << rest;
    clock_.Advance(1);
    EXPECT_THAT(ability_.WhyNot(), IsEmpty()) << rest;
  }
  ability_.Succeeded();
  ability_.Failed("no trainshim");
  clock_.Advance(kRest);
  EXPECT_THAT(ability_.WhyNot(), IsEmpty());
}

TEST_F(LaunchAbilityTest, NeedsAFolderThatCanBeWritten) {
  ability_.Failed("cannot write");
  clock_.Advance(kRest);
  std::filesystem::remove_all(folder_.path() + "/ranks");
  ASSERT_TRUE(base::WriteFileAtomically(folder_.path() + "/ranks", "in the way"));
  EXPECT_THAT(ability_.WhyNot(), HasSubstr("/ranks"));
  std::filesystem::remove(folder_.path() + "/ranks");
  std::filesystem::create_directories(folder_.path() + "/ranks");
  EXPECT_THAT(ability_.WhyNot(), IsEmpty());
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path() + "/ranks")) << "it leaves nothing behind";
}

TEST_F(LaunchAbilityTest, AFolderOfRanksThatSomebodyRemovedIsMadeAgain) {
  using enum std::filesystem::perms;
  const std::string ranks = folder_.path() + "/ranks";
  std::filesystem::permissions(folder_.path(), owner_all | group_exec | others_exec);
  std::filesystem::remove_all(ranks);
  EXPECT_THAT(ability_.WhyNot(), IsEmpty());
  EXPECT_EQ(std::filesystem::status(ranks).permissions(), owner_all | group_exec | others_exec);
}

TEST_F(LaunchAbilityTest, NeedsRoomOnTheDisk) {
  const tests::SmallDisk disk(folder_.path(), 2048);
  if (!disk.mounted()) GTEST_SKIP() << "no file system can be mounted here";
  std::filesystem::create_directories(folder_.path() + "/ranks");
  EXPECT_THAT(ability_.WhyNot(), IsEmpty());
  disk.Fill();
  EXPECT_THAT(ability_.WhyNot(), HasSubstr("is full"));
}

}  // namespace
}  // namespace trainctl::agent
