// Copies of a database that is in use, and sites that begin with one.
#include "server/store/backup.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <thread>

#include "server/store/database.h"
#include "server/store/schema.h"
#include "server/store/sqlite_store.h"
#include "tests/server/sample_rows.h"
#include "tests/server/temporary_folder.h"

namespace trainctl::store {
namespace {

namespace fs = std::filesystem;

constexpr base::WallMicros kNow = 1'800'000'000'000'000;
constexpr int64_t kSecondsOf2026 = 32'774'400;  // until then
const std::atomic<bool> kGoOn = false;

// Half of the cells on the root page of the table are no longer counted.
void HalveRootOfJobs(const std::string& path) {
  int64_t page = 0, page_size = 0;
  {
    auto database = Database::Open(path, Database::Mode::kWrite).value();
    database->Execute("PRAGMA wal_checkpoint(TRUNCATE)");
    Statement root(*database, "SELECT rootpage FROM sqlite_schema WHERE name = 'jobs'");
    while (root.Next()) root.Get(page);
    Statement size(*database, "PRAGMA page_size");
    while (size.Next()) size.Get(page_size);
  }
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  const int64_t count_at = (page - 1) * page_size + 3;  // two bytes, big-endian
  file.seekg(count_at);
  const int high = file.get();
  const int half = (high * 256 + file.get()) / 2;
  ASSERT_GT(half, 0);
  file.seekp(count_at);
  file.put(static_cast<char>(half >> 8)).put(static_cast<char>(half & 0xff));
}

// Of this thread, which other tests at the same time do not slow.
int64_t CpuMicros() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return time.tv_sec * 1'000'000 + time.tv_nsec / 1'000;
}

class BackupTest : public testing::Test {
 protected:
  std::string File(const std::string& name) const { return folder_.path() + "/" + name; }
  Restoration WishFor(const std::string& file) const {
    return {.file = file, .directory = File("restored"), .actor = "root", .now = kNow};
  }
  // A gang that is STARTING, and a job that waits.
  std::unique_ptr<Store> FilledSite() const {
    auto store = OpenSqliteStore(File("site")).value();
    EXPECT_TRUE(store->Apply(EveryRow()).ok());
    EXPECT_TRUE(store->Apply(SubmitBatch(2, "waiting")).ok());
    return store;
  }

  const TemporaryFolder folder_;
};

TEST_F(BackupTest, HasWhatWasCommittedWhileTheStoreGoesOn) {
  const auto store = FilledSite();
  std::atomic<bool> ends = false;
  std::atomic<int64_t> stored = 2;
  std::thread writer([&] {
    while (!ends) {
      EXPECT_TRUE(store->Apply(SubmitBatch(stored + 1, "more")).ok());
      ++stored;
    }
  });
  while (stored < 50) std::this_thread::yield();
  const int64_t before = stored;
  const auto made = WriteBackup(File("site"), File("a.db"), kGoOn);
  const int64_t after = stored;
  while (stored < after + 50) std::this_thread::yield();  // nothing of the copy is left in its way
  ends = true;
  writer.join();
  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_GE(made->jobs, before);
  EXPECT_LE(made->jobs, after + 1);
  struct stat status;
  ASSERT_EQ(stat(File("a.db").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  EXPECT_EQ(made->bytes, status.st_size);
  for (const auto& entry : fs::directory_iterator(folder_.path()))
    EXPECT_TRUE(entry.path().filename() == "a.db" || entry.path().filename() == "site")
        << entry.path();
}

TEST_F(BackupTest, ReplacesNothingAndRefusesOtherThanPlainPaths) {
  const auto store = FilledSite();
  std::ofstream(File("taken.db")) << "mine";
  fs::create_symlink("nowhere", File("link.db"));
  fs::create_directory(File("folder.db"));
  for (const auto& [path, code] :
       {std::pair<std::string, base::Code>{File("taken.db"), base::Code::kConflict},
        {File("link.db"), base::Code::kConflict},
        {File("folder.db"), base::Code::kConflict},
        {File("site/../b.db"), base::Code::kInvalid},
        {File("site//b.db"), base::Code::kInvalid},
        {File("b.db/"), base::Code::kInvalid},
        {File("b\n.db"), base::Code::kInvalid},
        {"b.db", base::Code::kInvalid},
        {"", base::Code::kInvalid},
        {"/" + std::string(5000, 'b') + ".db", base::Code::kInvalid},
        {File("authorized_keys"), base::Code::kInvalid},
        {File("missing/b.db"), base::Code::kNotFound}}) {
    const auto made = WriteBackup(File("site"), path, kGoOn);
    ASSERT_FALSE(made.ok()) << path;
    EXPECT_EQ(made.error().code, code) << made.error().message;
  }
  std::string text;
  std::ifstream(File("taken.db")) >> text;
  EXPECT_EQ(text, "mine");
  EXPECT_FALSE(fs::exists(File("taken.db.partial")));
}

TEST_F(BackupTest, WhatAKillHasLeftIsReplaced) {
  const auto store = FilledSite();
  std::ofstream(File("a.db.partial")) << "half a database";
  EXPECT_TRUE(WriteBackup(File("site"), File("a.db"), kGoOn).ok());
  EXPECT_FALSE(fs::exists(File("a.db.partial")));
}

TEST_F(BackupTest, IsGivenUpWhenTheCoordinatorStops) {
  FilledSite();
  {
    auto database = Database::Open(File("site/coordinator.db"), Database::Mode::kWrite).value();
    database->Execute(
        "WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers LIMIT 200000) "
        "INSERT INTO audit (at, actor, action, subject) SELECT n, 'ann', 'submit', 'j1' FROM "
        "numbers");
    ASSERT_TRUE(database->TakeStatus().ok());
  }
  const int64_t began = CpuMicros();
  ASSERT_TRUE(WriteBackup(File("site"), File("whole.db"), kGoOn).ok());
  const int64_t whole = CpuMicros() - began;
  const std::atomic<bool> stops = true;
  const auto made = WriteBackup(File("site"), File("a.db"), stops);
  const int64_t given_up = CpuMicros() - began - whole;
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code, base::Code::kUnavailable);
  EXPECT_LT(given_up, whole / 4) << "it was read to its end all the same";
  EXPECT_FALSE(fs::exists(File("a.db")) || fs::exists(File("a.db.partial")));
}

TEST_F(BackupTest, OfADamagedDatabaseNoneIsWritten) {
  FilledSite();
  {
    auto database = Database::Open(File("site/coordinator.db"), Database::Mode::kWrite).value();
    database->Execute("PRAGMA foreign_keys=OFF");
    database->Execute("UPDATE ranks SET worker = 'nobody'");
    ASSERT_TRUE(database->TakeStatus().ok());
  }
  const auto made = WriteBackup(File("site"), File("a.db"), kGoOn);
  ASSERT_FALSE(made.ok());
  EXPECT_NE(made.error().message.find("'nobody', which is no worker"), std::string::npos)
      << made.error().message;
  EXPECT_FALSE(fs::exists(File("a.db")) || fs::exists(File("a.db.partial")));
}

TEST_F(BackupTest, ARestoredSiteHasAllJobsAndNoneThatStartsAgain) {
  {
    const auto store = FilledSite();
    ASSERT_TRUE(WriteBackup(File("site"), File("a.db"), kGoOn).ok());
  }
  const auto restored = RestoreBackup(WishFor(File("a.db")));
  ASSERT_TRUE(restored.ok()) << restored.error().message;
  EXPECT_EQ(restored->jobs, 2);
  EXPECT_EQ(restored->ended, 2);
  EXPECT_EQ(restored->gap.first, 3);
  EXPECT_EQ(restored->gap.last, kSecondsOf2026);
  const auto store = OpenSqliteStore(File("restored")).value();
  const core::StoredState state = store->LoadState().value();
  EXPECT_TRUE(state.jobs.empty());
  EXPECT_EQ(state.next_job, kSecondsOf2026 + 1);
  EXPECT_EQ(state.next_group, kSecondsOf2026 + 1);
  EXPECT_EQ(state.next_lease, kSecondsOf2026 + 1);
  ASSERT_EQ(state.gaps.size(), 1u);
  EXPECT_EQ(state.gaps[0].first, 3);
  EXPECT_EQ(state.gaps[0].last, kSecondsOf2026);
  const auto reader = OpenSqliteReader(File("restored")).value();
  const std::vector<StoredJob> jobs = reader->Jobs({}).value();
  ASSERT_EQ(jobs.size(), 2u);
  EXPECT_EQ(jobs[0].status.end->outcome, job::Outcome::kCancelled);
  EXPECT_EQ(jobs[1].status.end->outcome, job::Outcome::kNodeLost);
  const std::vector<StoredAttempt> attempts = reader->Attempts({1}).value();
  EXPECT_EQ(attempts.back().row.end->outcome, job::Outcome::kNodeLost);
  EXPECT_EQ(reader->Audit(1).value().at(0).action, "restore");
  EXPECT_EQ(fs::exists(File("restored/coordinator.db.partial")), false);
}

// Each such site gives its jobs numbers of its own: a rank, a folder or a log is one job's.
TEST_F(BackupTest, TheSecondSiteOfABackupGivesNoNumberOfTheFirst) {
  {
    const auto store = FilledSite();
    ASSERT_TRUE(WriteBackup(File("site"), File("a.db"), kGoOn).ok());
  }
  ASSERT_TRUE(RestoreBackup(WishFor(File("a.db"))).ok());
  Restoration again = WishFor(File("a.db"));
  again.directory = File("again");
  again.now += 3'600'000'000;
  const auto second = RestoreBackup(again);
  ASSERT_TRUE(second.ok()) << second.error().message;
  EXPECT_EQ(second->gap.last, kSecondsOf2026 + 3600);
}

TEST_F(BackupTest, WhereTheClockIsWrongNumbersAreStillFarBeyondTheBackups) {
  {
    const auto store = FilledSite();
    ASSERT_TRUE(WriteBackup(File("site"), File("a.db"), kGoOn).ok());
  }
  Restoration wish = WishFor(File("a.db"));
  wish.now = 0;
  wish.last_job = 31'415;
  const auto restored = RestoreBackup(wish);
  ASSERT_TRUE(restored.ok()) << restored.error().message;
  EXPECT_EQ(restored->gap.last, 200'000);
}

// What restoring wrote is in the file, not in a log that a failed checkpoint would have left.
TEST_F(BackupTest, ARestoredDatabaseIsOneFile) {
  {
    const auto store = FilledSite();
    ASSERT_TRUE(WriteBackup(File("site"), File("a.db"), kGoOn).ok());
  }
  ASSERT_TRUE(RestoreBackup(WishFor(File("a.db"))).ok());
  EXPECT_FALSE(fs::exists(File("restored/coordinator.db-wal")));
  std::ifstream file(File("restored/coordinator.db"), std::ios::binary);
  file.seekg(18);  // the version for writers: 1 a rollback journal, 2 a write-ahead log
  EXPECT_EQ(file.get(), 1);
}

// VACUUM would drop the rows of a damaged page and leave a file that looks whole.
TEST_F(BackupTest, OfDamagedPagesNeitherABackupIsWrittenNorASiteMade) {
  {
    const auto store = FilledSite();
    for (int64_t job = 3; job < 300; ++job)
      ASSERT_TRUE(store->Apply(SubmitBatch(job, "more")).ok());
    ASSERT_TRUE(WriteBackup(File("site"), File("a.db"), kGoOn).ok());
  }
  for (const char* name : {"site/coordinator.db", "a.db"}) HalveRootOfJobs(File(name));
  const auto made = WriteBackup(File("site"), File("b.db"), kGoOn);
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code, base::Code::kIo) << made.error().message;
  EXPECT_FALSE(fs::exists(File("b.db")) || fs::exists(File("b.db.partial")));
  EXPECT_FALSE(RestoreBackup(WishFor(File("a.db"))).ok());
}

TEST_F(BackupTest, ADatabaseIsNeverReplacedByABackup) {
  {
    const auto store = FilledSite();
    ASSERT_TRUE(WriteBackup(File("site"), File("a.db"), kGoOn).ok());
  }
  fs::create_directory(File("restored"));
  for (const char* name : {"coordinator.db", "coordinator.db-wal"}) {
    std::ofstream(File("restored/") + name) << "";
    const auto restored = RestoreBackup(WishFor(File("a.db")));
    ASSERT_FALSE(restored.ok()) << name;
    EXPECT_EQ(restored.error().code, base::Code::kConflict);
    fs::remove(File("restored/") + name);
  }
  Restoration in_use = WishFor(File("a.db"));
  in_use.directory = File("site");
  const auto store = OpenSqliteStore(File("site")).value();
  const auto refused = RestoreBackup(in_use);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("another coordinator"), std::string::npos);
}

TEST_F(BackupTest, WhatIsNoBackupIsRefusedAndLeavesNothing) {
  std::ofstream(File("text")) << std::string(5000, 'x');
  {
    auto database = Database::Open(File("other.db"), Database::Mode::kWrite).value();
    database->Execute("CREATE TABLE jobs (id INTEGER PRIMARY KEY AUTOINCREMENT)");
    database->Execute("PRAGMA user_version = 1");
    ASSERT_TRUE(database->TakeStatus().ok());
  }
  {
    auto database = Database::Open(File("newer.db"), Database::Mode::kWrite).value();
    database->Execute("PRAGMA user_version = 9000");
    ASSERT_TRUE(database->TakeStatus().ok());
  }
  ASSERT_EQ(mkfifo(File("fifo").c_str(), 0600), 0);
  fs::create_directory(File("folder"));
  for (const char* name : {"text", "other.db", "newer.db", "missing", "fifo", "folder"}) {
    const auto restored = RestoreBackup(WishFor(File(name)));
    ASSERT_FALSE(restored.ok()) << name;
    EXPECT_NE(restored.error().message.find(name), std::string::npos) << restored.error().message;
    EXPECT_FALSE(fs::exists(File("restored/coordinator.db")));
    EXPECT_FALSE(fs::exists(File("restored/coordinator.db.partial")));
  }
  EXPECT_FALSE(fs::exists(File("missing")));
}

TEST_F(BackupTest, OneOfAnOlderVersionIsBroughtToThisOne) {
  {
    auto database = Database::Open(File("old.db"), Database::Mode::kWrite).value();
    database->Execute(Schema().front());
    database->Execute("PRAGMA user_version = 1");
    ASSERT_TRUE(database->TakeStatus().ok());
  }
  const auto restored = RestoreBackup(WishFor(File("old.db")));
  ASSERT_TRUE(restored.ok()) << restored.error().message;
  EXPECT_EQ(restored->jobs, 0);
  EXPECT_TRUE(OpenSqliteStore(File("restored")).ok());
}

}  // namespace
}  // namespace trainctl::store
