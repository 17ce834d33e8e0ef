// What the store says where it may not write: to its folder, to its file, to their file system.
#include <gmock/gmock.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <functional>

#include "server/store/database.h"
#include "server/store/sqlite_store.h"
#include "tests/server/temporary_folder.h"

namespace trainctl::store {
namespace {

using testing::HasSubstr;

constexpr uid_t kNobody = 65534;

// A site's folder, that a coordinator has left.
class ReadOnlyStore : public testing::Test {
 protected:
  ReadOnlyStore() {
    EXPECT_TRUE(OpenSqliteStore(folder_.path()).ok());
    for (const auto& file : std::filesystem::directory_iterator(folder_.path()))
      chmod(file.path().c_str(), 0666);
    chmod(folder_.path().c_str(), 0777);
  }
  ~ReadOnlyStore() override { chmod(folder_.path().c_str(), 0700); }

  // What a process says that opens the store behind these preparations; empty: they fail.
  std::string SaidBehind(const std::function<bool()>& prepare) const {
    std::array<int, 2> ends;
    EXPECT_EQ(pipe(ends.data()), 0);
    const pid_t child = fork();
    if (child == 0) {
      if (!prepare()) _exit(0);
      const auto store = OpenSqliteStore(folder_.path());
      const std::string said = store.ok() ? "it is opened" : store.error().message;
      _exit(write(ends[1], said.data(), said.size()) < 0);
    }
    close(ends[1]);
    std::string said(4096, '\0');
    const ssize_t size = read(ends[0], said.data(), said.size());
    said.resize(size > 0 ? static_cast<size_t>(size) : 0);
    close(ends[0]);
    waitpid(child, nullptr, 0);
    return said;
  }

  // Root may write whatever the modes say.
  static bool BecomeNobody() {
    return geteuid() != 0 || (setgid(kNobody) == 0 && setuid(kNobody) == 0);
  }

  TemporaryFolder folder_;
};

TEST_F(ReadOnlyStore, AFolderWithoutWritePermissionIsSaidBySqlite) {
  chmod(folder_.path().c_str(), 0555);
  const std::string said = SaidBehind(BecomeNobody);
  if (said.empty()) GTEST_SKIP() << "this process can't become another user";
  EXPECT_THAT(said, HasSubstr("attempt to write a readonly database: make the file, its folder"));
}

TEST_F(ReadOnlyStore, AFileWithoutWritePermissionIsSaid) {
  chmod(folder_.database().c_str(), 0444);
  const std::string said = SaidBehind(BecomeNobody);
  if (said.empty()) GTEST_SKIP() << "this process can't become another user";
  EXPECT_THAT(said, HasSubstr(folder_.database() + ": Permission denied: make the file"));
}

TEST_F(ReadOnlyStore, AReadOnlyFileSystemIsSaid) {
  const char* path = folder_.path().c_str();
  const std::string said = SaidBehind([path] {
    return unshare(CLONE_NEWNS) == 0 &&
           mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
           mount(path, path, nullptr, MS_BIND, nullptr) == 0 &&
           mount(nullptr, path, nullptr, MS_BIND | MS_REMOUNT | MS_RDONLY, nullptr) == 0;
  });
  if (said.empty()) GTEST_SKIP() << "this process can't mount";
  EXPECT_THAT(said, HasSubstr("Read-only file system: make the file, its folder and its disk"));
}

}  // namespace
}  // namespace trainctl::store
