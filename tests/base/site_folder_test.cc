#include "common/base/site_folder.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "common/base/file_roots.h"

namespace trainctl::base {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

// As `trainctl local up` makes it, and a folder of a user beside it.
class SiteFolder : public testing::Test {
 protected:
  SiteFolder() {
    std::string pattern = fs::temp_directory_path() / "trainctl-site-XXXXXX";
    top_ = fs::canonical(::mkdtemp(pattern.data()));
    fs::create_directories(top_ / "site/worker-0/ranks");
    fs::create_directories(top_ / "site/coordinator/logs");
    fs::create_directories(top_ / "mine");
    std::ofstream(top_ / "site/worker-0" / kWorkerLock);
    std::ofstream(top_ / "site/coordinator" / kCoordinatorLock);
  }
  ~SiteFolder() override { fs::remove_all(top_); }

  std::string At(const std::string& name) const { return (top_ / name).string(); }
  std::string Refusal(const std::string& name) const {
    const Status status = CheckNoSiteFolder(At(name));
    return status ? "" : status.error().message;
  }

  fs::path top_;
};

TEST_F(SiteFolder, OneOfAWorkerOrTheCoordinatorIsRefusedWithAllThatLiesInIt) {
  EXPECT_EQ(Refusal("site/worker-0"),
            At("site/worker-0") + " is a worker's own folder: name another one");
  EXPECT_EQ(Refusal("site/worker-0/ranks"), At("site/worker-0/ranks") + " lies within " +
                                                At("site/worker-0") +
                                                ", a worker's own folder: name another one");
  EXPECT_THAT(Refusal("site/worker-0/not/yet/there"), HasSubstr(" lies within "));
  EXPECT_THAT(Refusal("site/coordinator/logs"), HasSubstr("the coordinator's own folder"));
  EXPECT_THAT(Refusal("mine/../site/worker-0/"), HasSubstr("a worker's own folder"));
  EXPECT_EQ(CheckNoSiteFolder(At("site/worker-0")).error().code, Code::kDenied);
}

TEST_F(SiteFolder, OneThatHoldsSuchAFolderIsRefused) {
  EXPECT_THAT(Refusal("site"), HasSubstr(At("site") + " holds " + At("site/")));
  EXPECT_THAT(Refusal(""), HasSubstr(" holds "));
}

TEST_F(SiteFolder, AJobReadsThereWhatItsRootsAllowAndWritesNothing) {
  using enum FileUse;
  const FileRoots anything, mine{.read = {At("site")}, .write = {At("mine")}};
  for (const FileRoots& roots : {anything, mine}) {
    EXPECT_TRUE(CheckPathOfJob(At("site/worker-0"), kRead, roots));
    EXPECT_TRUE(CheckPathOfJob(At("mine/new"), kWrite, roots));
    EXPECT_FALSE(CheckPathOfJob(At("site/worker-0/new"), kWrite, roots));
  }
  EXPECT_THAT(CheckPathOfJob(At("site/new"), kWrite, mine).error().message, HasSubstr("outside"))
      << "what lies outside is said first";
}

TEST_F(SiteFolder, ALinkIsFollowed) {
  fs::create_directory_symlink(At("site/worker-0/ranks"), At("mine/link"));
  EXPECT_THAT(Refusal("mine/link"), HasSubstr("a worker's own folder"));
  EXPECT_THAT(Refusal("mine/link/out"), HasSubstr("a worker's own folder"));
}

TEST_F(SiteFolder, AnyOtherIsNot) {
  EXPECT_EQ(Refusal("mine"), "");
  EXPECT_EQ(Refusal("mine/not/yet/there"), "");
  EXPECT_EQ(Refusal("site/out"), "");
}

}  // namespace
}  // namespace trainctl::base
