#include "server/store/sqlite_store.h"

#include "server/store/commit_count.h"
#include "server/store/database.h"
#include "server/store/file_system.h"
#include "server/store/find_fault.h"
#include "server/store/load_state.h"
#include "server/store/lock_file.h"
#include "server/store/migrate.h"
#include "server/store/open_files.h"
#include "server/store/point_thinner.h"
#include "server/store/row_writer.h"

namespace trainctl::store {
namespace {

class SqliteStore : public Store {
 public:
  SqliteStore(std::unique_ptr<LockFile> lock, std::unique_ptr<Database> database, CommitCount count)
      : lock_(std::move(lock)),
        database_(std::move(database)),
        files_(database_->path()),
        count_(std::move(count)),
        writer_(*database_),
        thinner_(*database_) {}

  ~SqliteStore() override {
    if (!files_.CheckInPlace()) database_->KeepLog();
  }

  base::Status Apply(const Batch& batch) override {
    if (batch.empty()) return base::Ok{};
    if (base::Status there = CheckInPlace(); !there) return there;
    Transaction transaction(*database_);
    writer_.Write(batch);
    count_.Count(*database_);
    base::Status status = transaction.Commit();
    if (status.ok())
      count_.Committed();
    else
      writer_.Forget();
    return status;
  }

  base::Result<core::StoredState> LoadState() override {
    core::StoredState state = store::LoadState(*database_);
    base::Status status = database_->TakeStatus();
    if (!status.ok()) return status.error();
    if (const std::string fault = FindFault(state); !fault.empty())
      return base::Error{base::Code::kIo, Damaged(database_->path() + ": " + fault)};
    return state;
  }

  base::Result<ThinningPiece> ThinPoints(const ThinningWish& wish) override {
    if (const base::Status there = CheckInPlace(); !there) return there.error();
    return thinner_.Next(wish);
  }

  base::Status CheckInPlace() override { return files_.CheckInPlace(); }

  // Of the statements that were prepared before there was work.
  base::Status Prepared() { return database_->TakeStatus(); }

 private:
  std::unique_ptr<LockFile> lock_;  // outlives the connection
  std::unique_ptr<Database> database_;
  const OpenFiles files_;
  CommitCount count_;
  RowWriter writer_;
  PointThinner thinner_;
};

// SQLite takes a database whose log was removed for whole: what was in the log alone is gone.
base::Status CheckTables(Database& database, const std::string& directory) {
  const int64_t version = SchemaVersion(database);
  if (const base::Status read = database.TakeStatus(); !read) return read;
  if (version != 0) return base::Ok{};
  const std::string& path = database.path();
  return base::Error{base::Code::kConflict,
                     path + " has no tables, though this site has had jobs: what it had was in " +
                         path + "-wal, which is missing or empty; put that back" +
                         HowToRestore(directory)};
}

base::Status CheckCommits(const CommitCount& count, const std::string& directory) {
  if (count.missing() == 0) return base::Ok{};
  const std::string path = DatabasePath(directory), commits = CommitsPath(path);
  return base::Error{base::Code::kConflict,
                     path + " lacks the last " + std::to_string(count.missing()) +
                         " commits of this site (" + commits + " says so): is " + path +
                         "-wal missing, or is this an older copy? Put back what is missing" +
                         HowToRestore(directory) +
                         "; to go on without them, though jobs that have ended may run again, "
                         "remove " +
                         commits};
}

}  // namespace

std::string HowToRestore(const std::string& directory) {
  const std::string path = DatabasePath(directory);
  return ", or move " + path + "* away and begin with a copy that trainctl admin backup has " +
         "written: traincoordinator restore --from COPY --dir " + directory;
}

std::string DatabasePath(const std::string& directory) { return directory + "/coordinator.db"; }

base::Result<std::unique_ptr<Store>> OpenSqliteStore(const std::string& directory, Place place,
                                                     Site site) {
  base::Status folder = PrepareFolder(directory, place);
  if (!folder.ok()) return folder.error();
  auto lock = LockFile::Take(LockPath(directory));
  if (!lock.ok()) return lock.error();
  auto database = Database::Open(DatabasePath(directory), Database::Mode::kWrite);
  if (!database.ok()) return database.error();
  if (site == Site::kGoesOn) {
    const base::Status has_tables = CheckTables(**database, directory);
    if (!has_tables.ok()) return has_tables.error();
  }
  auto count = CommitCount::Open(**database);
  if (!count.ok()) return count.error();
  if (const base::Status whole = CheckCommits(*count, directory); !whole) return whole.error();
  base::Status migrated = Migrate(**database, Schema());
  if (!migrated.ok()) return migrated.error();
  auto store =
      std::make_unique<SqliteStore>(std::move(*lock), std::move(*database), std::move(*count));
  base::Status prepared = store->Prepared();
  if (!prepared.ok()) return prepared.error();
  return std::unique_ptr<Store>(std::move(store));
}

}  // namespace trainctl::store
