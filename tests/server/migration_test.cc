// A site of each earlier version, with rows in every table, is upgraded with nothing lost.
//
// tests/server/schemas holds each step as it was released: version N is what the first N make. A
// step that is released adds its file, and no file is changed ever. A job beside it is as that
// version wrote it, without the keys that came later.
#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "common/job/job_json.h"
#include "server/store/database.h"
#include "server/store/schema.h"
#include "server/store/sqlite_store.h"
#include "tests/checkout.h"
#include "tests/server/sample_rows.h"
#include "tests/server/temporary_folder.h"

namespace trainctl::store {
namespace {

std::string Released(int64_t version, const std::string& what) {
  const std::string number = (version < 10 ? "0" : "") + std::to_string(version);
  std::ostringstream text;
  text << std::ifstream(checkout::File("tests/server/schemas/" + number + what)).rdbuf();
  return text.str();
}

std::string ReleasedStep(int64_t version) { return Released(version, ".sql"); }

std::vector<std::string> TextsOf(Database& database, const std::string& sql) {
  std::vector<std::string> texts;
  Statement statement(database, sql);
  while (statement.Next()) statement.Get(texts.emplace_back());
  return texts;
}

int64_t NumberOf(Database& database, const std::string& sql) {
  int64_t number = -1;
  Statement statement(database, sql);
  while (statement.Next()) statement.Get(number);
  return number;
}

// Those that rows refer to come first.
std::vector<std::string> Tables(Database& database, const std::string& schema) {
  return TextsOf(database, "SELECT name FROM " + schema +
                               ".sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' "
                               "ORDER BY rowid");
}

// The columns of a table that it has in both files: "a, b".
std::string SharedColumns(Database& database, const std::string& table) {
  std::string columns;
  for (const std::string& name :
       TextsOf(database, "SELECT name FROM pragma_table_info('" + table + "', 'main') INTERSECT " +
                             "SELECT name FROM pragma_table_info('" + table + "', 'other')"))
    columns += (columns.empty() ? "\"" : ", \"") + name + "\"";
  return columns;
}

// Rows in every table of today's, as the store writes them.
void MakeSiteOfToday(const TemporaryFolder& folder) {
  {
    const auto store = OpenSqliteStore(folder.path());
    ASSERT_TRUE(store.ok()) << store.error().message;
    ASSERT_TRUE((*store)->Apply(EveryRow()).ok());
  }
  const auto database = Database::Open(folder.database(), Database::Mode::kWrite).value();
  database->Execute(
      "INSERT INTO removed_use VALUES ('ann', 2, 10, 20); INSERT INTO gaps VALUES (7, 8); "
      "INSERT INTO thinned VALUES (1, 30); INSERT INTO logs_removed VALUES (1, 40)");
  for (const std::string& table : Tables(*database, "main"))
    EXPECT_GT(NumberOf(*database, "SELECT count(*) FROM " + table), 0) << table << " has no rows";
  ASSERT_TRUE(database->TakeStatus().ok());
}

// The tables as they were released then, with what they can hold of today's rows.
void MakeSiteOf(int64_t version, const TemporaryFolder& folder, const TemporaryFolder& today) {
  const auto database = Database::Open(folder.database(), Database::Mode::kWrite).value();
  for (int64_t step = 1; step <= version; ++step) database->Execute(ReleasedStep(step));
  database->Execute("PRAGMA user_version = " + std::to_string(version));
  database->Execute("ATTACH '" + today.database() + "' AS other");
  for (const std::string& table : Tables(*database, "main")) {
    const std::string columns = SharedColumns(*database, table);
    if (table == "site") database->Execute("DELETE FROM site");
    database->Execute("INSERT INTO main." + table + " (" + columns + ") SELECT " + columns +
                      " FROM other." + table);
  }
  const base::Status status = database->TakeStatus();
  ASSERT_TRUE(status.ok()) << status.error().message;
}

void ExpectNothingLost(const TemporaryFolder& folder, int64_t version) {
  const auto database = Database::Open(folder.database(), Database::Mode::kCopy).value();
  database->Execute("ATTACH '" + folder.database() + ".v" + std::to_string(version) +
                    ".bak' AS other");
  for (const std::string& table : Tables(*database, "other")) {
    const std::string columns = SharedColumns(*database, table);
    EXPECT_EQ(NumberOf(*database, "SELECT count(*) FROM main." + table),
              NumberOf(*database, "SELECT count(*) FROM other." + table))
        << table;
    EXPECT_EQ(
        NumberOf(*database, "SELECT count(*) FROM (SELECT " + columns + " FROM other." + table +
                                " EXCEPT SELECT " + columns + " FROM main." + table + ")"),
        0)
        << table;
  }
  const base::Status status = database->TakeStatus();
  EXPECT_TRUE(status.ok()) << status.error().message;
}

void ExpectReadable(const TemporaryFolder& folder) {
  const core::JobRow sample = SampleJob(1, "first", "request-1", 1);
  const auto reader = OpenSqliteReader(folder.path()).value();
  const auto jobs = reader->Jobs({}).value();
  ASSERT_EQ(jobs.size(), 1u);
  EXPECT_EQ(job::ToJson(jobs[0].row.spec), job::ToJson(sample.spec));
  EXPECT_EQ(jobs[0].status.state, job::JobState::kStarting);
  EXPECT_EQ(reader->Attempts(sample.id).value().size(), 2u);
  EXPECT_EQ(reader->Events(sample.id).value().size(), 2u);
  EXPECT_EQ(reader->Artefacts(sample.id).value().at(0).saved.path, "/out");
  EXPECT_EQ(reader->Workers().value().size(), 2u);
  EXPECT_EQ(reader->Summaries(sample.id).value().size(), 1u);
  EXPECT_EQ(reader->Audit(10).value().size(), 2u);
}

TEST(Migration, FromEachReleasedVersionEveryRowIsKeptAndRead) {
  TemporaryFolder today;
  ASSERT_NO_FATAL_FAILURE(MakeSiteOfToday(today));
  for (int64_t version = 1; version < std::ssize(Schema()); ++version) {
    SCOPED_TRACE("version " + std::to_string(version));
    TemporaryFolder folder;
    ASSERT_NO_FATAL_FAILURE(MakeSiteOf(version, folder, today));
    {
      const auto store = OpenSqliteStore(folder.path());
      ASSERT_TRUE(store.ok()) << store.error().message;
      const core::StoredState state = (*store)->LoadState().value();
      ASSERT_EQ(state.jobs.size(), 1u);
      EXPECT_EQ(state.jobs[0].ranks.size(), 2u);
      EXPECT_EQ(state.leases.size(), version < 16 ? 0u : 1u);
      ExpectReadable(folder);
      ExpectNothingLost(folder, version);
      ASSERT_TRUE((*store)->Apply(SubmitBatch(9, "new")).ok());
      EXPECT_EQ((*store)->LoadState().value().jobs.size(), 2u);
    }
  }
}

TEST(Migration, AJobThatTheFirstVersionWroteIsReadAsItWas) {
  TemporaryFolder today, folder;
  ASSERT_NO_FATAL_FAILURE(MakeSiteOfToday(today));
  ASSERT_NO_FATAL_FAILURE(MakeSiteOf(1, folder, today));
  {
    const auto database = Database::Open(folder.database(), Database::Mode::kWrite).value();
    database->Execute("UPDATE jobs SET spec = '" + Released(1, ".job.json") + "', inspection = '" +
                      Released(1, ".inspection.json") + "'");
    ASSERT_TRUE(database->TakeStatus().ok());
  }
  const auto store = OpenSqliteStore(folder.path());
  ASSERT_TRUE(store.ok()) << store.error().message;
  const core::StoredState state = (*store)->LoadState().value();
  ASSERT_EQ(state.jobs.size(), 1u);
  const core::JobRow& row = state.jobs[0].row;
  ASSERT_FALSE(row.unreadable) << row.unreadable->why;
  const job::JobSpec& spec = row.spec;
  EXPECT_EQ(spec.tags.at("lab"), "2");
  EXPECT_EQ(spec.devices, 2);
  EXPECT_EQ(spec.precision, job::Precision::kBf16True);
  EXPECT_EQ(spec.train.max_steps, 5);
  EXPECT_EQ(spec.train.lr_warmup_steps, 100);
  EXPECT_EQ(spec.optimizer.name, job::OptimizerKind::kSgd);
  EXPECT_EQ(spec.lora->targets, (std::vector<std::string>{"q", "v"}));
  EXPECT_EQ(spec.output.dir, "/out");
  EXPECT_EQ(spec.profile->steps, 3);
  EXPECT_EQ(spec.resources.time_limit_seconds, 7200);
  EXPECT_EQ(spec.resources.gpu_memory_limit_bytes, 80'000'000'000);
  EXPECT_EQ(spec.resources.constraints.at("gpu.memory"), ">=40GiB");
  ASSERT_TRUE(row.inspection);
  EXPECT_EQ(row.inspection->rows, 10);
  EXPECT_EQ(row.inspection->longest_row, 77);
  EXPECT_EQ(row.inspection->model.layers, 22);
  EXPECT_EQ(row.inspection->data_digest, "0123456789abcdef");
}

TEST(Migration, ReleasedStepsAreNeverChanged) {
  for (int64_t version = 1; version <= std::ssize(Schema()); ++version) {
    EXPECT_EQ(std::string(Schema()[version - 1]), "\n" + ReleasedStep(version))
        << "released steps are followed by others: see tests/server/schemas";
  }
}

}  // namespace
}  // namespace trainctl::store
