#include "server/store/backup.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <vector>

#include "common/base/file.h"
#include "common/base/regular_file.h"
#include "server/core/restore.h"
#include "server/store/commit_count.h"
#include "server/store/copy_database.h"
#include "server/store/database.h"
#include "server/store/file_system.h"
#include "server/store/find_fault.h"
#include "server/store/load_state.h"
#include "server/store/lock_file.h"
#include "server/store/migrate.h"
#include "server/store/row_writer.h"
#include "server/store/sqlite_store.h"

namespace trainctl::store {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxPath = 4000;
// Numbers that were given after the backup are fewer; those of a restored site begin at a round
// one, or at the seconds since 2026 where these are more. A second site of the same backup gives
// none of the first's, unless that gave more than one a second.
constexpr int64_t kNumberStride = 100'000;
constexpr base::WallMicros kNumbersBegan = 1'767'225'600'000'000;  // 2026-01-01 UTC
// Instructions of SQLite between two looks at whether to give up: a fraction of a millisecond.
constexpr int kLookEvery = 10'000;

base::Status CheckFile(const std::string& file) {
  const fs::path path(file);
  // No file of another ending: none that a login, a timer or a service reads can be made this way.
  const bool is_plain = path.is_absolute() && path.lexically_normal().native() == file &&
                        path.extension() == ".db" && file.size() <= kMaxPath &&
                        std::ranges::none_of(file, [](unsigned char c) { return c < 0x20; });
  if (!is_plain) {
    return base::Error{base::Code::kInvalid,
                       "'" + file.substr(0, 256) +
                           "': expected an absolute path on the coordinator's host that ends in "
                           ".db, without . and .."};
  }
  std::error_code error;
  if (!fs::exists(fs::symlink_status(path, error))) return base::Ok{};
  return base::Error{base::Code::kConflict, file + " is there already: name a new file"};
}

int64_t ReadNumber(Database& database, std::string_view sql) {
  Statement statement(database, sql);
  int64_t number = 0;
  while (statement.Next()) statement.Get(number);
  return number;
}

base::Status Whole(Database& database, const std::string& fault) {
  if (base::Status read = database.TakeStatus(); !read) return read;
  if (fault.empty()) return base::Ok{};
  return base::Error{base::Code::kIo, Damaged(database.path() + ": " + fault)};
}

// Also of what is copied: a copy of damaged pages may look whole.
base::Status CheckPages(Database& database) {
  Statement statement(database, "PRAGMA integrity_check(1)");
  std::string found;
  while (statement.Next()) statement.Get(found);
  return Whole(database, found == "ok" ? "" : found);
}

// That a coordinator could start on it.
base::Status CheckWhole(Database& database) {
  if (base::Status pages = CheckPages(database); !pages) return pages;
  return Whole(database, FindFault(LoadState(database)));
}

// What the connection does ends in an error soon after that. give_up outlives it.
void EndOn(const std::atomic<bool>& give_up, Database& database) {
  sqlite3_progress_handler(
      database.handle(), kLookEvery,
      [](void* flag) { return static_cast<const std::atomic<bool>*>(flag)->load() ? 1 : 0; },
      const_cast<std::atomic<bool>*>(&give_up));
}

base::Result<Backup> ReadBack(const std::string& partial, const std::atomic<bool>& give_up) {
  auto database = Database::Open(partial, Database::Mode::kRead);
  if (!database) return database.error();
  EndOn(give_up, **database);
  if (const base::Status whole = CheckWhole(**database); !whole) return whole.error();
  Backup backup;
  backup.jobs = ReadNumber(**database, "SELECT COUNT(*) FROM jobs");
  if (const base::Status read = (*database)->TakeStatus(); !read) return read.error();
  std::error_code error;
  backup.bytes = static_cast<int64_t>(fs::file_size(partial, error));
  return backup;
}

base::Error GivenUp() {
  return {base::Code::kUnavailable, "the coordinator is stopping: no backup was written"};
}

// The file's own time, by which it was complete.
base::WallMicros WrittenAt(const Restoration& wish) {
  struct stat file;
  if (stat(wish.file.c_str(), &file) != 0) return wish.now;
  return std::min(wish.now, int64_t{file.st_mtim.tv_sec} * 1'000'000);
}

int64_t LastNumber(int64_t last, base::WallMicros now) {
  return std::max((last / kNumberStride + 2) * kNumberStride, (now - kNumbersBegan) / 1'000'000);
}

void Number(Database& database, std::string_view table, int64_t last) {
  Statement forget(database, "DELETE FROM sqlite_sequence WHERE name = ?");
  forget.Put(table).Run();
  Statement remember(database, "INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)");
  remember.Put(table, last).Run();
}

// Of the copy, before it gets its name.
base::Result<Restored> MakeRestored(Database& database, const Restoration& wish) {
  if (const base::Status migrated = Migrate(database, Schema(), Before::kNothing); !migrated)
    return migrated.error();
  if (const base::Status whole = CheckWhole(database); !whole) return whole.error();
  const core::StoredState state = LoadState(database);
  Batch batch;
  batch.rows = core::EndUnfinished(state, WrittenAt(wish));
  batch.audit.push_back({wish.now, wish.actor, "restore", wish.file, "", "accepted"});
  RowWriter writer(database);
  Transaction transaction(database);
  writer.Write(batch);
  const int64_t last_job = LastNumber(std::max(state.next_job, wish.last_job), wish.now);
  Number(database, "jobs", last_job);
  Number(database, "groups", LastNumber(state.next_group, wish.now));
  Number(database, "leases", LastNumber(state.next_lease, wish.now));
  Statement gap(database, "INSERT INTO gaps (first, last) VALUES (?, ?)");
  gap.Put(state.next_job, last_job).Run();
  if (const base::Status stored = transaction.Commit(); !stored) return stored.error();
  Restored restored;
  restored.jobs = ReadNumber(database, "SELECT COUNT(*) FROM jobs");
  restored.ended = static_cast<int64_t>(state.jobs.size());
  restored.gap = {state.next_job, last_job};
  if (const base::Status read = database.TakeStatus(); !read) return read.error();
  return restored;
}

base::Status CheckNoDatabase(const std::string& path) {
  for (const char* suffix : {"", "-wal", "-journal"}) {
    std::error_code error;
    if (!fs::exists(fs::symlink_status(path + suffix, error))) continue;
    return base::Error{
        base::Code::kConflict,
        path + suffix + " is there: to restore a backup in its place, move " + path + "* away"};
  }
  return base::Ok{};
}

void RemoveWithLogs(const std::string& path) {
  for (const char* suffix : {"", "-wal", "-shm"}) unlink((path + suffix).c_str());
}

// Brings all that was written into the file itself, or says why it could not.
base::Status LeaveLog(Database& database) {
  Statement statement(database, "PRAGMA journal_mode=DELETE");
  std::string mode;
  while (statement.Next()) statement.Get(mode);
  if (const base::Status left = database.TakeStatus(); !left) return left;
  if (mode == "delete") return base::Ok{};
  return base::Error{base::Code::kIo, database.path() + ": SQLite can't leave its log"};
}

// The copy with its name still to get, closed: nothing of it is in a log beside it.
base::Result<Restored> CopyAndChange(const Restoration& wish, const std::string& partial) {
  {
    auto source = Database::Open(wish.file, Database::Mode::kCopy);
    if (!source) return source.error();
    if (const base::Status whole = CheckPages(**source); !whole) return whole.error();
    if (const base::Status copied = CopyDatabase(**source, partial); !copied) return copied.error();
  }
  auto database = Database::Open(partial, Database::Mode::kWrite);
  if (!database) return database.error();
  auto restored = MakeRestored(**database, wish);
  const base::Status alone = restored ? LeaveLog(**database) : base::Ok{};
  if (!alone) return alone.error();
  if (restored) return restored;
  return base::Error{restored.error().code,
                     wish.file + " can't be restored: " + restored.error().message};
}

}  // namespace

base::Result<Backup> WriteBackup(const std::string& directory, const std::string& file,
                                 const std::atomic<bool>& give_up) {
  if (const base::Status fits = CheckFile(file); !fits) return fits.error();
  auto database = Database::Open(DatabasePath(directory), Database::Mode::kCopy);
  if (!database) return database.error();
  EndOn(give_up, **database);
  const std::string partial = file + ".partial";
  base::Status done = CheckPages(**database);
  if (done) done = CopyDatabase(**database, partial);
  if (!done) return give_up ? GivenUp() : done.error();
  auto backup = ReadBack(partial, give_up);
  if (give_up) backup = GivenUp();
  done = backup ? RenameNew(partial, file) : base::Status(backup.error());
  if (done) return backup;
  unlink(partial.c_str());
  return done.error();
}

base::Result<Restored> RestoreBackup(const Restoration& wish) {
  if (const auto regular = base::OpenRegular(wish.file); !regular) return regular.error();
  if (const base::Status folder = PrepareFolder(wish.directory, Place::kLocal); !folder)
    return folder.error();
  auto lock = LockFile::Take(LockPath(wish.directory));
  if (!lock) return lock.error();
  const std::string path = DatabasePath(wish.directory), partial = path + ".partial";
  if (const base::Status free = CheckNoDatabase(path); !free) return free.error();
  RemoveWithLogs(partial);
  auto restored = CopyAndChange(wish, partial);
  unlink(CommitsPath(path).c_str());  // of the database that was there
  base::Status named = restored ? RenameNew(partial, path) : base::Status(restored.error());
  if (named) return restored;
  RemoveWithLogs(partial);
  return named.error();
}

}  // namespace trainctl::store
