#include "common/base/file_roots.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <functional>

#include "common/base/file_fence.h"

namespace trainctl::base {
namespace {

namespace fs = std::filesystem;
using enum FileUse;
using testing::HasSubstr;

// data/mine/rows.json and data/other/rows.json, and a link to the latter in mine.
class FileRootsTest : public testing::Test {
 protected:
  FileRootsTest() {
    std::string pattern = fs::temp_directory_path() / "trainctl-roots-XXXXXX";
    top_ = fs::canonical(::mkdtemp(pattern.data()));
    for (const char* name : {"mine", "other"}) {
      fs::create_directory(top_ / name);
      std::ofstream(top_ / name / "rows.json") << "[]";
    }
    fs::create_symlink(top_ / "other", top_ / "mine" / "link");
    fs::create_symlink(top_ / "nowhere", top_ / "mine" / "dangling");
  }
  ~FileRootsTest() override { fs::remove_all(top_); }

  std::string At(const std::string& name) const { return top_ / name; }
  FileRoots Mine() const { return {.read = {At("mine")}, .write = {At("mine")}}; }

  // What a child says that is enclosed in the roots of mine.
  int InChild(const std::function<int()>& act) const {
    const pid_t child = ::fork();
    if (child == 0) {
      const bool enclosed = Enclose({.roots = Mine(), .also_read = {}, .also_write = {}}).ok();
      ::_exit(enclosed ? act() : 255);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WEXITSTATUS(status);
  }

  fs::path top_;
};

int ErrorOfOpening(const std::string& path, int flags) {
  const int fd = ::open(path.c_str(), flags, 0644);
  return fd < 0 ? errno : 0;
}

TEST_F(FileRootsTest, WhatLiesBelowARootIsAllowed) {
  EXPECT_TRUE(CheckWithin(At("mine/rows.json"), kRead, Mine()));
  EXPECT_TRUE(CheckWithin(At("mine"), kRead, Mine()));
  EXPECT_TRUE(CheckWithin(At("mine/new/folder"), kWrite, Mine()));
  EXPECT_TRUE(CheckWithin(At("other/rows.json"), kRead, {}));
}

TEST_F(FileRootsTest, WhatLeadsOutIsNamedWithWhereItLeads) {
  const Status outside = CheckWithin(At("other/rows.json"), kRead, Mine());
  ASSERT_FALSE(outside);
  EXPECT_EQ(outside.error().code, Code::kDenied);
  EXPECT_EQ(outside.error().message,
            At("other/rows.json") + " lies outside of what this job may read here: " + At("mine") +
                ", " + At("mine"));
  const Status linked = CheckWithin(At("mine/link/rows.json"), kRead, Mine());
  ASSERT_FALSE(linked);
  EXPECT_THAT(linked.error().message, HasSubstr("(in truth " + At("other/rows.json") + ")"));
}

TEST_F(FileRootsTest, WhatIsNotThereIsJudgedByTheFolderAboveIt) {
  EXPECT_FALSE(CheckWithin(At("other/missing"), kRead, Mine()));
  EXPECT_FALSE(CheckWithin(At("mine/link/missing/deep"), kWrite, Mine()));
  EXPECT_FALSE(CheckWithin(At("mine/missing/../../other/x"), kWrite, Mine()));
  EXPECT_FALSE(CheckWithin(At("mine/dangling"), kWrite, Mine()));
  EXPECT_FALSE(CheckWithin(At("mine/dangling/below"), kWrite, Mine()));
  EXPECT_FALSE(CheckWithin(At("mine-too"), kWrite, Mine())) << "a name that begins like a root's";
  EXPECT_FALSE(CheckWithin("relative", kRead, Mine()));
  EXPECT_TRUE(CheckWithin(At("mine/link/../mine/rows.json"), kRead, Mine()));
}

TEST_F(FileRootsTest, ARootIsFollowedTooAndMayBeMissing) {
  EXPECT_TRUE(CheckWithin(At("other/rows.json"), kRead, {.read = {At("mine/link")}, .write = {}}));
  EXPECT_FALSE(CheckWithin(At("missing/x"), kRead, {.read = {At("missing")}, .write = {}}));
}

TEST_F(FileRootsTest, WhatMayBeWrittenMayBeRead) {
  const FileRoots roots{.read = {At("mine")}, .write = {At("other")}};
  EXPECT_TRUE(CheckWithin(At("other/rows.json"), kRead, roots));
  EXPECT_FALSE(CheckWithin(At("mine/rows.json"), kWrite, roots));
}

TEST_F(FileRootsTest, TheKernelKeepsAProcessInWhateverTheName) {
  if (!HasFileFence()) GTEST_SKIP() << "this kernel has no Landlock";
  EXPECT_EQ(InChild([&] { return ErrorOfOpening(At("mine/rows.json"), O_RDONLY); }), 0);
  EXPECT_EQ(InChild([&] { return ErrorOfOpening(At("mine/new"), O_WRONLY | O_CREAT); }), 0);
  EXPECT_EQ(InChild([&] { return ErrorOfOpening("/usr", O_RDONLY | O_DIRECTORY); }), 0);
  EXPECT_EQ(InChild([&] { return ErrorOfOpening("/dev/null", O_RDWR); }), 0);
  EXPECT_EQ(InChild([&] { return ErrorOfOpening(At("other/rows.json"), O_RDONLY); }), EACCES);
  EXPECT_EQ(InChild([&] { return ErrorOfOpening(At("mine/link/rows.json"), O_RDONLY); }), EACCES);
  EXPECT_EQ(InChild([&] { return ErrorOfOpening(At("other/new"), O_WRONLY | O_CREAT); }), EACCES);
}

// A sanitizer maps such memory, and drivers do: its name in /proc/self/maps is "/memfd:x
// (deleted)".
TEST_F(FileRootsTest, CodeInMemoryWithoutAFileOpensNoFolder) {
  if (!HasFileFence()) GTEST_SKIP() << "this kernel has no Landlock";
  const int memory = ::memfd_create("x", 0);
  ASSERT_EQ(::ftruncate(memory, 4096), 0);
  void* code = ::mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, memory, 0);
  ASSERT_NE(code, MAP_FAILED);
  EXPECT_EQ(InChild([&] { return ErrorOfOpening(At("other/rows.json"), O_RDONLY); }), EACCES);
  ::munmap(code, 4096);
  ::close(memory);
}

}  // namespace
}  // namespace trainctl::base
