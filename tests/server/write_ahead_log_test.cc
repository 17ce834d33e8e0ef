// A log that a crash left behind, and what becomes of it when a byte of it changes.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "common/base/file.h"
#include "server/store/backup.h"
#include "server/store/commit_count.h"
#include "server/store/database.h"
#include "server/store/sqlite_store.h"
#include "server/store/write_ahead_log.h"
#include "tests/server/sample_rows.h"
#include "tests/server/temporary_folder.h"

namespace trainctl::store {
namespace {

constexpr size_t kHeaderBytes = 32;
constexpr int kJobs = 5;

// The files of a site with five jobs as a crash leaves them: all of it in the log.
class WriteAheadLogTest : public testing::Test {
 protected:
  WriteAheadLogTest() {
    TemporaryFolder site;
    auto store = OpenSqliteStore(site.path()).value();
    for (int job = 1; job <= kJobs; ++job)
      EXPECT_TRUE(store->Apply(SubmitBatch(job, "job " + std::to_string(job))).ok());
    for (const char* suffix : {"", "-wal", "-commits"})
      std::filesystem::copy_file(site.database() + suffix, crashed_.database() + suffix);
    log_ = base::ReadFile(path(), 64 << 20).value();
  }

  std::string path() const { return crashed_.database() + "-wal"; }
  void Write(const std::string& log) const {
    std::ofstream(path(), std::ios::binary | std::ios::trunc) << log;
  }
  void WriteWithAFlip(size_t at) const {
    std::string log = log_;
    log.at(at) = static_cast<char>(log.at(at) ^ 1);
    Write(log);
  }
  // Of the last commit.
  void NobodyWasTold() const {
    std::ofstream(CommitsPath(crashed_.database())) << "000000000" << kJobs - 1 << "\n";
  }
  // How many jobs a coordinator finds there.
  size_t JobsOfStart() const {
    auto store = OpenSqliteStore(crashed_.path());
    EXPECT_TRUE(store) << store.error().message;
    return store ? (*store)->LoadState().value().jobs.size() : 0;
  }
  void ExpectSaid(size_t at) const {
    WriteWithAFlip(at);
    const auto store = OpenSqliteStore(crashed_.path());
    ASSERT_FALSE(store) << at;
    EXPECT_NE(store.error().message.find(path()), std::string::npos) << store.error().message;
    EXPECT_NE(store.error().message.find("put a backup in its place"), std::string::npos);
    EXPECT_EQ(base::ReadFile(path(), 64 << 20).value().size(), log_.size()) << "nothing is lost";
  }

  TemporaryFolder crashed_;
  std::string log_;
};

TEST_F(WriteAheadLogTest, AWholeOneIsReadAfterACrash) {
  EXPECT_GT(log_.size(), kHeaderBytes);
  EXPECT_EQ(JobsOfStart(), kJobs);
}

TEST_F(WriteAheadLogTest, AFlippedByteBeforeOthersThatWereCommittedIsSaidToBeDamage) {
  for (const double part : {0.01, 0.2, 0.4, 0.6})
    ExpectSaid(static_cast<size_t>(part * static_cast<double>(log_.size())));
}

TEST_F(WriteAheadLogTest, AFlippedByteOfTheHeaderIsSaidToBeDamage) {
  for (const size_t at : {0, 9, 16, 24}) ExpectSaid(at);
}

// As a power failure leaves it: nobody was told that the last transaction is stored.
TEST_F(WriteAheadLogTest, ATornEndIsNoDamage) {
  NobodyWasTold();
  Write(log_.substr(0, log_.size() - 100));
  EXPECT_EQ(JobsOfStart(), kJobs - 1);
}

TEST_F(WriteAheadLogTest, AnEndThatReachedTheDiskInPartIsNoDamage) {
  NobodyWasTold();
  WriteWithAFlip(log_.size() - 1);
  EXPECT_EQ(JobsOfStart(), kJobs - 1);
}

TEST_F(WriteAheadLogTest, ALogWithoutAFrameIsNoDamage) {
  for (const size_t bytes : {0, 7, 32}) {
    Write(log_.substr(0, bytes));
    EXPECT_TRUE(CheckWriteAheadLog(crashed_.database()).ok()) << bytes;
  }
  std::filesystem::remove(path());
  EXPECT_TRUE(CheckWriteAheadLog(crashed_.database()).ok());
}

TEST_F(WriteAheadLogTest, WithoutTheOneOfACrashNoStartIsMade) {
  Write("");
  for (int again = 0; again < 2; ++again) {
    const auto store = OpenSqliteStore(crashed_.path());
    ASSERT_FALSE(store);
    EXPECT_EQ(store.error().code, base::Code::kConflict);
    for (const char* said : {"coordinator.db lacks the last 5 commits", "-wal missing", "restore",
                             "remove ", "coordinator.db-commits"})
      EXPECT_NE(store.error().message.find(said), std::string::npos) << store.error().message;
    std::filesystem::remove(path());
  }
  Write(log_);
  EXPECT_EQ(JobsOfStart(), kJobs);
}

TEST_F(WriteAheadLogTest, WithoutItsEndNoStartIsMadeUnlessNobodyWasToldThatItIsStored) {
  Write(log_.substr(0, log_.size() / 2));
  EXPECT_FALSE(OpenSqliteStore(crashed_.path()));
  std::filesystem::remove(CommitsPath(crashed_.database()));
  EXPECT_LT(JobsOfStart(), kJobs) << "as somebody wishes";
}

TEST_F(WriteAheadLogTest, ACleanEndACopyAndAnotherProgramsCheckpointNeedNone) {
  EXPECT_EQ(JobsOfStart(), kJobs);
  EXPECT_FALSE(std::filesystem::exists(path()));
  EXPECT_EQ(JobsOfStart(), kJobs);
  for (const char* suffix : {"", "-wal"}) std::filesystem::remove(crashed_.database() + suffix);
  const std::string older = crashed_.path() + "/older.db";
  {
    TemporaryFolder site;
    auto store = OpenSqliteStore(site.path()).value();
    ASSERT_TRUE(store->Apply(SubmitBatch(1, "one")));
    ASSERT_TRUE(WriteBackup(site.path(), older, false));
    for (const char* suffix : {"", "-wal", "-commits"})
      std::filesystem::copy_file(site.database() + suffix, crashed_.database() + suffix,
                                 std::filesystem::copy_options::overwrite_existing);
  }
  ASSERT_TRUE(Database::Open(crashed_.database(), Database::Mode::kWrite));  // and closed
  EXPECT_FALSE(std::filesystem::exists(path()));
  EXPECT_EQ(JobsOfStart(), 1);

  std::filesystem::remove(crashed_.database());
  ASSERT_TRUE(RestoreBackup({.file = older, .directory = crashed_.path()}));
  EXPECT_EQ(JobsOfStart(), 0) << "all were ended";
}

}  // namespace
}  // namespace trainctl::store
