// That one process writes to a database, and that this harms no lock of SQLite's own.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "server/store/sqlite_store.h"
#include "tests/server/sample_rows.h"
#include "tests/server/temporary_folder.h"

namespace trainctl::store {
namespace {

// Whether another process would meet a lock of this one on SQLite's bytes of the database.
bool SqliteHoldsIt(const std::string& database) {
  const pid_t child = fork();
  if (child == 0) {
    struct flock lock = {};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    lock.l_start = 0x40000000;
    lock.l_len = 512;
    const int file = open(database.c_str(), O_RDWR | O_CLOEXEC);
    _exit(fcntl(file, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST(WriterLock, ARemovedLockFileLetsNoSecondCoordinatorIn) {
  TemporaryFolder folder;
  auto first = OpenSqliteStore(folder.path());
  ASSERT_TRUE(first.ok());
  std::filesystem::remove(folder.path() + "/coordinator.lock");
  const auto second = OpenSqliteStore(folder.path());
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, base::Code::kConflict);
  EXPECT_NE(second.error().message.find("another coordinator"), std::string::npos)
      << second.error().message;
  std::move(*first).reset();
  EXPECT_TRUE(OpenSqliteStore(folder.path()).ok()) << "the lock ends with its owner";
}

TEST(WriterLock, SqliteKeepsItsOwnLocks) {
  TemporaryFolder folder;
  auto store = OpenSqliteStore(folder.path()).value();
  ASSERT_TRUE(store->Apply(SubmitBatch(1, "first")).ok());
  EXPECT_TRUE(SqliteHoldsIt(folder.database()));
}

}  // namespace
}  // namespace trainctl::store
