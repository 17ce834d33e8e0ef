// How our types stand in columns: one overload in and out for each. Internal to this room.
#pragma once

#include <optional>
#include <string>

#include "common/base/ids.h"
#include "common/job/outcome.h"
#include "server/core/rows.h"
#include "server/store/database.h"
#include "server/store/statement.h"

namespace trainctl::store {

// Reads and writes the columns of rows, in order. What is read and makes no sense is refused by the
// database (Database::Refuse).
class ColumnWriter {
 public:
  explicit ColumnWriter(Statement& statement) : statement_(statement) {}

  template <class... T>
  void operator()(const T&... values) {
    (Put(values), ...);
  }

 private:
  void Put(int64_t value) { statement_.Put(value); }
  void Put(double value) { statement_.Put(value); }
  void Put(const std::string& value) { statement_.Put(std::string_view(value)); }
  void Put(bool value) { statement_.Put(int64_t{value}); }
  template <class Tag>
  void Put(base::Id<Tag> id) {
    statement_.Put(id.value);
  }
  template <class T>
  void Put(const std::optional<T>& value) {
    value ? Put(*value) : statement_.PutNull();
  }
  void Put(job::JobState state);
  void Put(job::Outcome outcome);
  void Put(job::DeviceKind kind);
  void Put(const job::Labels& labels);
  void Put(const job::Links& links);
  void Put(core::Proof proof);
  void Put(job::RunPhase phase);
  void Put(const std::optional<job::Phase>& phase);  // empty where there is none
  void Put(job::Stage stage);
  void Put(core::Trial trial);
  void Put(const job::OomDetail& oom);
  // Of several columns, null where there is none:
  void Put(const std::optional<job::AttemptEnd>& end);
  void Put(const std::optional<core::Stop>& stop);
  void Put(const std::optional<job::RankOutcome>& outcome);
  void PutNulls(int count);

  Statement& statement_;
};

class ColumnReader {
 public:
  ColumnReader(Database& database, Statement& statement)
      : database_(database), statement_(statement) {}

  template <class... T>
  void operator()(T&... values) {
    (Get(values), ...);
  }

 private:
  void Get(int64_t& value) { statement_.Get(value); }
  void Get(double& value) { statement_.Get(value); }
  void Get(std::string& value) { statement_.Get(value); }
  void Get(bool& value);
  template <class Tag>
  void Get(base::Id<Tag>& id) {
    statement_.Get(id.value);
  }
  template <class T>
  void Get(std::optional<T>& value) {
    if (statement_.NextIsNull()) return statement_.Skip();
    Get(value.emplace());
  }
  void Get(job::JobState& state);
  void Get(job::Outcome& outcome);
  void Get(job::DeviceKind& kind);
  void Get(job::Labels& labels);
  void Get(job::Links& links);
  void Get(core::Proof& proof);
  void Get(job::RunPhase& phase);
  void Get(std::optional<job::Phase>& phase);
  void Get(job::Stage& stage);
  void Get(core::Trial& trial);
  void Get(job::OomDetail& oom);
  void Get(std::optional<job::AttemptEnd>& end);
  void Get(std::optional<core::Stop>& stop);
  void Get(std::optional<job::RankOutcome>& outcome);
  void SkipColumns(int count);
  template <class T, class Parse>
  void GetNamed(T& value, const Parse& parse, const char* what) {
    std::string name;
    Get(name);
    const std::optional<T> parsed = parse(name);
    if (!parsed)
      return database_.Refuse("a stored " + std::string(what) + " is damaged: '" + name + "'");
    value = *parsed;
  }

  Database& database_;
  Statement& statement_;
};

}  // namespace trainctl::store
