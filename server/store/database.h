// One connection to the coordinator's SQLite file. Internal to this room. Not thread-safe.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "common/base/descriptor.h"
#include "common/base/result.h"
#include "server/store/statement.h"

struct sqlite3;

namespace trainctl::store {

// "WHAT: the file is damaged; …", with what to do.
std::string Damaged(const std::string& what);

class Database {
 public:
  // kCopy reads, and may write other files.
  enum class Mode { kWrite, kRead, kCopy };

  // kWrite makes the file where it is missing. kConflict: another connection writes to it.
  // kNotFound, kExhausted, kIo.
  static base::Result<std::unique_ptr<Database>> Open(const std::string& path, Mode mode);
  ~Database();
  Database(const Database&) = delete;

  // A script without parameters and rows.
  void Execute(const std::string& sql);
  // The statement of that text, prepared once and ready for its values.
  Statement& Prepared(std::string_view sql);

  // The log beside the file stays as the connection closes: it may be another's.
  void KeepLog();

  // Rows that the last statement changed.
  int64_t Changes() const;

  // The first error since the last TakeStatus.
  bool ok() const { return status_.ok(); }
  // Takes the error away, so that the connection can be used again.
  base::Status TakeStatus();
  // Remembers an SQLite result code if it is the first error.
  void Note(int code);
  // Remembers an error in what was read.
  void Refuse(std::string message);

  const std::string& path() const { return path_; }
  sqlite3* handle() const { return handle_; }

 private:
  explicit Database(std::string path) : path_(std::move(path)) {}

  std::string path_;
  base::Descriptor lock_;  // of kWrite; closed behind the connection
  sqlite3* handle_ = nullptr;
  base::Status status_ = base::Ok{};
  std::map<std::string, std::unique_ptr<Statement>, std::less<>> statements_;  // by their SQL
};

// BEGIN IMMEDIATE … COMMIT, or ROLLBACK where something failed or nobody committed.
class Transaction {
 public:
  explicit Transaction(Database& database);
  ~Transaction();
  Transaction(const Transaction&) = delete;

  // The first error of all statements since the beginning; then nothing is stored.
  base::Status Commit();

 private:
  void Rollback();

  Database& database_;
  bool is_open_ = true;
};

}  // namespace trainctl::store
