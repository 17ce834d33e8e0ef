#include "server/store/database.h"

#include <sqlite3.h>

#include <utility>

#include "server/store/write_ahead_log.h"
#include "server/store/writer_lock.h"

namespace trainctl::store {
namespace {

// Readers may meet the writer while it recovers the log after a crash.
constexpr int kBusyTimeoutMs = 5000;

base::Error ToError(const std::string& path, int code, const std::string& text) {
  const std::string what = path + ": " + text;
  switch (code & 0xff) {
    case SQLITE_FULL: return {base::Code::kExhausted, what + ": free some space on its disk"};
    case SQLITE_READONLY: return {base::Code::kIo, what + kMakeWritable};
    case SQLITE_ERROR:  // our SQL is right: the tables are not as this program made them
    case SQLITE_CORRUPT:
    case SQLITE_FORMAT:
    case SQLITE_MISMATCH:
    case SQLITE_NOTADB: return {base::Code::kIo, Damaged(what)};
    case SQLITE_CONSTRAINT: return {base::Code::kConflict, what};
    default: return {base::Code::kIo, what};
  }
}

// Every pragma that matters for safety, set rather than assumed.
constexpr const char* kWriterPragmas =
    "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA mmap_size=0; PRAGMA foreign_keys=ON; "
    "PRAGMA trusted_schema=OFF; PRAGMA cell_size_check=ON;";
constexpr const char* kCopierPragmas =
    "PRAGMA mmap_size=0; PRAGMA trusted_schema=OFF; PRAGMA cell_size_check=ON;";
constexpr const char* kReaderPragmas =
    "PRAGMA mmap_size=0; PRAGMA query_only=ON; PRAGMA trusted_schema=OFF; "
    "PRAGMA cell_size_check=ON;";

const char* PragmasOf(Database::Mode mode) {
  switch (mode) {
    case Database::Mode::kWrite: return kWriterPragmas;
    case Database::Mode::kRead: return kReaderPragmas;
    case Database::Mode::kCopy: return kCopierPragmas;
  }
  return "";
}

}  // namespace

std::string Damaged(const std::string& what) {
  return what +
         ": the file is damaged; stop the coordinator and put a backup in its place, or move it "
         "away to begin with an empty one";
}

base::Result<std::unique_ptr<Database>> Database::Open(const std::string& path, Mode mode) {
  std::unique_ptr<Database> database(new Database(path));
  if (mode == Mode::kWrite) {
    base::Result<base::Descriptor> lock = LockForWriting(path);
    if (!lock) return lock.error();
    database->lock_ = std::move(*lock);
    if (const base::Status whole = CheckWriteAheadLog(path); !whole) return whole.error();
  }
  const int access =
      mode == Mode::kWrite ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY;
  const int code = sqlite3_open_v2(path.c_str(), &database->handle_,
                                   access | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, nullptr);
  if (code != SQLITE_OK && mode != Mode::kWrite && (code & 0xff) == SQLITE_CANTOPEN) {
    return base::Error{
        base::Code::kNotFound,
        path + ": there is no such database; start the coordinator on its folder first"};
  }
  database->Note(code);
  if (database->ok()) sqlite3_busy_timeout(database->handle_, kBusyTimeoutMs);
  database->Execute(PragmasOf(mode));
  base::Status status = database->TakeStatus();
  if (!status.ok()) return status.error();
  return database;
}

Database::~Database() {
  statements_.clear();
  sqlite3_close_v2(handle_);
}

void Database::Execute(const std::string& sql) {
  if (ok()) Note(sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr));
}

void Database::KeepLog() {
  sqlite3_db_config(handle_, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
}

int64_t Database::Changes() const { return sqlite3_changes64(handle_); }

Statement& Database::Prepared(std::string_view sql) {
  auto found = statements_.find(sql);
  if (found == statements_.end())
    found = statements_.emplace(sql, std::make_unique<Statement>(*this, sql)).first;
  return *found->second;
}

base::Status Database::TakeStatus() {
  base::Status taken = base::Ok{};
  std::swap(taken, status_);
  return taken;
}

void Database::Note(int code) {
  const bool is_error = code != SQLITE_OK && code != SQLITE_ROW && code != SQLITE_DONE;
  if (is_error && ok()) status_ = ToError(path_, code, sqlite3_errmsg(handle_));
}

void Database::Refuse(std::string message) {
  if (ok()) status_ = base::Error{base::Code::kIo, path_ + ": " + std::move(message)};
}

Transaction::Transaction(Database& database) : database_(database) {
  database_.Execute("BEGIN IMMEDIATE");
}

Transaction::~Transaction() {
  if (is_open_) Rollback();
}

base::Status Transaction::Commit() {
  database_.Execute("COMMIT");
  is_open_ = false;
  if (!database_.ok()) Rollback();
  return database_.TakeStatus();
}

// SQLite itself has rolled back after some errors: then there is nothing left to do.
void Transaction::Rollback() {
  is_open_ = false;
  if (sqlite3_get_autocommit(database_.handle()) == 0)
    sqlite3_exec(database_.handle(), "ROLLBACK", nullptr, nullptr, nullptr);
}

}  // namespace trainctl::store
