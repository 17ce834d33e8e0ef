// A prepared SQLite statement: values in by Put, run by Run or Next, columns out by Get, both in
// the order of the SQL. Internal to this room.
//
// Errors stick to the statement's Database: after the first, nothing is executed and columns read
// as zero, until somebody takes the error (database.h). So a writer of many rows asks once, at its
// commit. Not thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

struct sqlite3_stmt;

namespace trainctl::store {

class Database;

class Statement {
 public:
  // SQL that does not fit the file's tables is the file's fault: whatever is done then is refused.
  Statement(Database& database, std::string_view sql);
  ~Statement();
  Statement(const Statement&) = delete;

  // Binds the next parameters. NaN becomes null. Texts are copied.
  template <class... T>
  Statement& Put(const T&... values) {
    (PutOne(values), ...);
    return *this;
  }
  void PutOne(int64_t value);
  void PutOne(double value);
  void PutOne(std::string_view value);
  void PutNull();

  // Executes a statement without rows, and makes it ready for the next values.
  void Run();
  // The next row; false after the last one, or after an error.
  bool Next();
  // Makes ready for the next values. Needed only where not all rows were taken.
  void Reset();

  // Reads the row's next columns. A null number reads as NaN or 0.
  template <class... T>
  void Get(T&... values) {
    (GetOne(values), ...);
  }
  void GetOne(int64_t& value);
  void GetOne(double& value);
  void GetOne(std::string& value);
  bool NextIsNull() const;
  // Passes a column over.
  void Skip() { ++column_; }

 private:
  void Bound(int code);
  int Step();

  Database& database_;
  sqlite3_stmt* statement_ = nullptr;
  std::string unusable_;  // why statement_ is null
  int parameter_ = 0;     // bound so far
  int column_ = 0;        // read so far
};

}  // namespace trainctl::store
