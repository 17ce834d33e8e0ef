#include "server/store/statement.h"

#include <sqlite3.h>

#include <cmath>
#include <limits>

#include "server/store/database.h"

namespace trainctl::store {

Statement::Statement(Database& database, std::string_view sql) : database_(database) {
  const auto size = static_cast<int>(sql.size());
  const int code = sqlite3_prepare_v3(database.handle(), sql.data(), size,
                                      SQLITE_PREPARE_PERSISTENT, &statement_, nullptr);
  database.Note(code);
  if (statement_ == nullptr) unusable_ = sqlite3_errmsg(database.handle());
}

Statement::~Statement() { sqlite3_finalize(statement_); }

void Statement::Bound(int code) {
  if (statement_ == nullptr) return database_.Refuse(Damaged(unusable_));
  database_.Note(code);
}

void Statement::PutOne(int64_t value) {
  Bound(sqlite3_bind_int64(statement_, ++parameter_, value));
}

void Statement::PutOne(double value) {
  if (std::isnan(value)) return PutNull();
  Bound(sqlite3_bind_double(statement_, ++parameter_, value));
}

void Statement::PutOne(std::string_view value) {
  const char* data = value.data() == nullptr ? "" : value.data();
  Bound(sqlite3_bind_text64(statement_, ++parameter_, data, value.size(), SQLITE_TRANSIENT,
                            SQLITE_UTF8));
}

void Statement::PutNull() { Bound(sqlite3_bind_null(statement_, ++parameter_)); }

int Statement::Step() {
  if (statement_ == nullptr) database_.Refuse(Damaged(unusable_));
  return database_.ok() ? sqlite3_step(statement_) : SQLITE_DONE;
}

void Statement::Run() {
  database_.Note(Step());
  Reset();
}

bool Statement::Next() {
  column_ = 0;
  const int code = Step();
  if (code == SQLITE_ROW) return true;
  database_.Note(code);
  Reset();
  return false;
}

void Statement::Reset() {
  sqlite3_reset(statement_);
  parameter_ = 0;
  column_ = 0;
}

void Statement::GetOne(int64_t& value) { value = sqlite3_column_int64(statement_, column_++); }

void Statement::GetOne(double& value) {
  const bool is_null = NextIsNull();
  value = is_null ? std::numeric_limits<double>::quiet_NaN()
                  : sqlite3_column_double(statement_, column_);
  ++column_;
}

void Statement::GetOne(std::string& value) {
  const void* text = sqlite3_column_text(statement_, column_);
  const int size = sqlite3_column_bytes(statement_, column_++);
  value.assign(static_cast<const char*>(text == nullptr ? "" : text), size);
}

bool Statement::NextIsNull() const {
  return sqlite3_column_type(statement_, column_) == SQLITE_NULL;
}

}  // namespace trainctl::store
