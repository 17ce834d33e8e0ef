// What the store does with a file that is damaged: it says so, names the file, and never crashes.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "server/core/restore.h"
#include "server/store/database.h"
#include "server/store/sqlite_store.h"
#include "tests/server/describe.h"
#include "tests/server/sample_rows.h"
#include "tests/server/temporary_folder.h"

namespace trainctl::store {
namespace {

// A site with a running gang of two, a finished and a waiting job. The file is complete: no log is
// left beside it.
void FillSite(const std::string& folder) {
  auto store = OpenSqliteStore(folder).value();
  Batch batch = EveryRow();
  batch.rows.push_back(core::AckRow{{{1}, 2, 0}, 7});
  ASSERT_TRUE(store->Apply(batch).ok());
  ASSERT_TRUE(store->Apply(SubmitBatch(2, "waiting")).ok());
  Batch finished = SubmitBatch(3, "finished");
  core::JobStatus status;
  status.state = job::JobState::kFinished;
  status.end = SampleEnd();
  finished.rows.push_back(core::UpdateJob{{3}, status});
  ASSERT_TRUE(store->Apply(finished).ok());
}

void Execute(const std::string& path, const std::string& sql) {
  auto database = Database::Open(path, Database::Mode::kWrite).value();
  database->Execute(sql);
  const base::Status status = database->TakeStatus();
  ASSERT_TRUE(status.ok()) << status.error().message;
}

// The error of a start on that folder; empty: it starts.
std::string ErrorOfStart(const std::string& folder) {
  auto store = OpenSqliteStore(folder);
  if (!store) return store.error().message;
  auto state = (*store)->LoadState();
  if (!state) return state.error().message;
  core::Restore({}, std::move(*state), {1'000'000, 1'000'000});
  return "";
}

// Everything that a coordinator asks of its store. The first error.
std::string UseAll(const std::string& folder) {
  if (const std::string error = ErrorOfStart(folder); !error.empty()) return error;
  auto store = OpenSqliteStore(folder).value();
  auto reader = OpenSqliteReader(folder);
  if (!reader) return reader.error().message;
  const auto error_of = [](const auto& result) { return result ? "" : result.error().message; };
  std::string error = error_of((*reader)->Jobs({}));
  for (const int64_t job : {1, 2, 3}) {
    if (error.empty()) error = error_of((*reader)->Attempts({job}));
    if (error.empty()) error = error_of((*reader)->Events({job}));
    if (error.empty()) error = error_of((*reader)->Artefacts({job}));
    if (error.empty()) error = error_of((*reader)->Summaries({job}));
    if (error.empty()) error = error_of((*reader)->Points({job}, {}, [](auto) { return true; }));
  }
  if (error.empty()) error = error_of((*reader)->Find("first"));
  if (error.empty()) error = error_of((*reader)->LatestGroup());
  if (error.empty()) error = error_of((*reader)->Workers());
  if (error.empty()) error = error_of((*reader)->Audit(10));
  if (error.empty()) error = error_of(store->Apply(SubmitBatch(4, "fourth")));
  return error;
}

void ExpectSaidToBeDamaged(const std::string& error, const std::string& path) {
  EXPECT_NE(error.find(path), std::string::npos) << error;
  EXPECT_NE(error.find("put a backup in its place"), std::string::npos) << error;
}

TEST(StoreDamage, ANegativeVersionIsSaidToBeDamage) {
  TemporaryFolder folder;
  FillSite(folder.path());
  Execute(folder.database(), "PRAGMA user_version = -7");
  ExpectSaidToBeDamaged(ErrorOfStart(folder.path()), folder.database());
}

TEST(StoreDamage, ATableOfAnotherShapeIsSaidToBeDamage) {
  TemporaryFolder folder;
  FillSite(folder.path());
  Execute(folder.database(), "ALTER TABLE ranks RENAME COLUMN proof TO prxof");
  ExpectSaidToBeDamaged(ErrorOfStart(folder.path()), folder.database());
  const auto reader = OpenSqliteReader(folder.path()).value();
  for (int again = 0; again < 2; ++again) {
    const auto attempts = reader->Attempts({1});
    ASSERT_FALSE(attempts.ok());
    ExpectSaidToBeDamaged(attempts.error().message, folder.database());
  }
}

TEST(StoreDamage, AnOlderVersionNumberOnNewTablesIsSaidToBeDamage) {
  TemporaryFolder folder;
  FillSite(folder.path());
  Execute(folder.database(), "PRAGMA user_version = 1");
  ExpectSaidToBeDamaged(ErrorOfStart(folder.path()), folder.database());
}

TEST(StoreDamage, RowsThatContradictEachOtherAreSaidToBeDamage) {
  const std::vector<std::string> damages = {
      "DELETE FROM ranks WHERE attempt = 2 AND rank = 1",
      "UPDATE ranks SET worker = 'a/0' WHERE attempt = 2",
      "UPDATE ranks SET worker = 'gone/0' WHERE attempt = 2 AND rank = 0",
      "UPDATE ranks SET rank = 9 WHERE attempt = 2 AND rank = 1",
      "UPDATE job_status SET state = 'RUNNING' WHERE job = 2",
      "UPDATE attempts SET stop_rank = 77 WHERE attempt = 2",
      "UPDATE sqlite_sequence SET seq = 9223372036854775807 WHERE name = 'jobs'",
      "DELETE FROM site",
  };
  for (const std::string& damage : damages) {
    TemporaryFolder folder;
    FillSite(folder.path());
    ASSERT_EQ(ErrorOfStart(folder.path()), "");
    Execute(folder.database(), "PRAGMA foreign_keys = OFF; " + damage);
    SCOPED_TRACE(damage);
    ExpectSaidToBeDamaged(ErrorOfStart(folder.path()), folder.database());
  }
}

// Bytes of a real file are changed at random, each time in a process of its own. The process must
// end by itself: it works, or names the file.
TEST(StoreDamage, RandomBytesNeverCrashIt) {
  TemporaryFolder original;
  FillSite(original.path());
  const auto size = std::filesystem::file_size(original.database());
  int refused = 0;
  for (uint32_t seed = 1; seed <= 200; ++seed) {
    TemporaryFolder folder;
    std::filesystem::copy_file(original.database(), folder.database());
    std::mt19937_64 random(seed);
    {
      std::fstream file(folder.database(), std::ios::in | std::ios::out | std::ios::binary);
      for (uint64_t flips = 1 + random() % 12; flips > 0; --flips) {
        const bool in_header = random() % 8 == 0;
        file.seekp(static_cast<std::streamoff>(random() % (in_header ? 108 : size)));
        file.put(static_cast<char>(random()));
      }
    }
    const pid_t child = fork();
    if (child == 0) {
      const std::string error = UseAll(folder.path());
      _exit(error.empty() ? 0 : error.find(folder.path()) != std::string::npos ? 1 : 2);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status)) << "seed " << seed << ": signal " << WTERMSIG(status);
    ASSERT_LE(WEXITSTATUS(status), 1) << "seed " << seed << ": the error names no file";
    refused += WEXITSTATUS(status);
  }
  EXPECT_GE(refused, 20) << "hardly any damage was met";
}

}  // namespace
}  // namespace trainctl::store
