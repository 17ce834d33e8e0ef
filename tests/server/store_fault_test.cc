// What the store does when something is wrong: with the batch, the disk, the process, the file, a
// second coordinator.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <fstream>

#include "common/job/job_json.h"
#include "server/store/database.h"
#include "server/store/file_system.h"
#include "server/store/find_fault.h"
#include "server/store/load_state.h"
#include "server/store/migrate.h"
#include "server/store/row_columns.h"
#include "server/store/row_writer.h"
#include "server/store/sqlite_store.h"
#include "tests/server/sample_rows.h"
#include "tests/server/temporary_folder.h"

namespace trainctl::store {
namespace {

TEST(StoreFault, ABatchWithOneBadRowIsNotStoredAtAll) {
  TemporaryFolder folder;
  auto store = OpenSqliteStore(folder.path()).value();
  Batch batch = SubmitBatch(1, "first");
  batch.rows.push_back(core::EventRow{{999}, 0, "of no job"});
  const base::Status status = store->Apply(batch);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, base::Code::kConflict);
  EXPECT_NE(status.error().message.find(folder.database()), std::string::npos);
  EXPECT_TRUE(store->LoadState().value().jobs.empty());
  EXPECT_TRUE(store->Apply(SubmitBatch(1, "first")).ok()) << "the store works on after an error";
}

TEST(StoreFault, TheSameRequestIsNeverStoredTwice) {
  TemporaryFolder folder;
  auto store = OpenSqliteStore(folder.path()).value();
  ASSERT_TRUE(store->Apply(SubmitBatch(1, "first")).ok());
  Batch again = SubmitBatch(1, "first");
  std::get<core::JobRow>(again.rows[1]).id = {2};
  EXPECT_FALSE(store->Apply(again).ok());
}

TEST(StoreFault, TheAuditIsAppendOnly) {
  TemporaryFolder folder;
  auto database = Database::Open(folder.database(), Database::Mode::kWrite).value();
  ASSERT_TRUE(Migrate(*database, Schema()).ok());
  RowWriter(*database).Write(EveryRow());
  ASSERT_TRUE(database->TakeStatus().ok());
  database->Execute("DELETE FROM audit");
  EXPECT_FALSE(database->TakeStatus().ok());
  database->Execute("UPDATE audit SET actor = 'eve'");
  EXPECT_FALSE(database->TakeStatus().ok());
}

// Applies numbered batches to a store until the process is killed; says so after each.
[[noreturn]] void ApplyForEver(const std::string& folder, int said) {
  auto store = OpenSqliteStore(folder).value();
  for (int64_t i = 1;; ++i) {
    Batch batch;
    for (int part = 0; part < 3; ++part) batch.rows.push_back(core::EventRow{{1}, i, "part"});
    batch.rows.push_back(core::AckRow{{{1}, 1, 0}, i});
    if (!store->Apply(batch).ok() || write(said, "x", 1) != 1) _exit(1);
  }
}

TEST(StoreFault, AKilledProcessLosesNothingThatItAnsweredAndTearsNoBatch) {
  TemporaryFolder folder;
  ASSERT_TRUE(OpenSqliteStore(folder.path()).value()->Apply(SubmitBatch(1, "first")).ok());
  std::array<int, 2> pipe_ends;
  ASSERT_EQ(pipe(pipe_ends.data()), 0);
  const pid_t child = fork();
  if (child == 0) ApplyForEver(folder.path(), pipe_ends[1]);
  close(pipe_ends[1]);
  int64_t answered = 0;
  for (char byte; answered < 25 && read(pipe_ends[0], &byte, 1) == 1;) ++answered;
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  for (char byte; read(pipe_ends[0], &byte, 1) == 1;) ++answered;
  close(pipe_ends[0]);

  ASSERT_GE(answered, 25);
  auto database = Database::Open(folder.database(), Database::Mode::kWrite).value();
  Statement& statement =
      database->Prepared("SELECT (SELECT sequence FROM acks), COUNT(*) FROM events");
  ASSERT_TRUE(statement.Next());
  int64_t stored = 0, parts = 0;
  statement.Get(stored, parts);
  EXPECT_GE(stored, answered);
  EXPECT_EQ(parts, 3 * stored);
}

TEST(StoreFault, AFullDiskIsSaidAndSurvived) {
  TemporaryFolder folder;
  auto database = Database::Open(folder.database(), Database::Mode::kWrite).value();
  ASSERT_TRUE(Migrate(*database, Schema()).ok());
  RowWriter writer(*database);
  {
    Transaction transaction(*database);
    writer.Write(SubmitBatch(1, "first"));
    ASSERT_TRUE(transaction.Commit().ok());
  }
  database->Execute(
      "PRAGMA max_page_count = 1");  // SQLite makes it the file's present size: no page more
  {
    Transaction transaction(*database);
    Batch batch;
    for (int i = 0; i < 100; ++i)
      batch.rows.push_back(core::EventRow{{1}, 0, std::string(1000, 'x')});
    writer.Write(batch);
    const base::Status status = transaction.Commit();
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, base::Code::kExhausted);
    EXPECT_NE(status.error().message.find(folder.database()), std::string::npos);
    EXPECT_NE(status.error().message.find("free some space"), std::string::npos);
  }
  database->Execute("PRAGMA max_page_count = 1000000");
  Transaction transaction(*database);
  writer.Write(SubmitBatch(2, "second"));
  EXPECT_TRUE(transaction.Commit().ok());
}

TEST(StoreFault, ADamagedFileIsRefused) {
  TemporaryFolder folder;
  std::ofstream(folder.database()) << std::string(8192, '?');
  const auto store = OpenSqliteStore(folder.path());
  ASSERT_FALSE(store.ok());
  EXPECT_NE(store.error().message.find("damaged"), std::string::npos) << store.error().message;
}

TEST(StoreFault, AJobFileThatTheSchemaRefusesIsShownWithItsTextAndAllElseWorks) {
  TemporaryFolder folder;
  ASSERT_TRUE(OpenSqliteStore(folder.path()).value()->Apply(SubmitBatch(1, "old")).ok());
  ASSERT_TRUE(OpenSqliteStore(folder.path()).value()->Apply(SubmitBatch(2, "new")).ok());
  Database::Open(folder.database(), Database::Mode::kWrite)
      .value()
      ->Execute("UPDATE jobs SET spec = '{\"version\": 0}' WHERE id = 1");
  const auto store = OpenSqliteStore(folder.path()).value();
  const auto state = store->LoadState();
  ASSERT_TRUE(state.ok()) << state.error().message;
  EXPECT_EQ(state->jobs.at(0).row.unreadable->text, "{\"version\": 0}");
  EXPECT_FALSE(state->jobs.at(0).row.unreadable->why.empty());
  EXPECT_FALSE(state->jobs.at(1).row.unreadable);
  const auto jobs = OpenSqliteReader(folder.path()).value()->Jobs({});
  ASSERT_TRUE(jobs.ok());
  ASSERT_EQ(jobs->size(), 2u);
  EXPECT_EQ(jobs->at(1).row.spec.name, "old");
  EXPECT_EQ(jobs->at(0).row.spec.train.micro_batch_size, 4);
}

TEST(StoreFault, AReaderWithoutADatabaseSaysSo) {
  TemporaryFolder folder;
  const auto reader = OpenSqliteReader(folder.path());
  ASSERT_FALSE(reader.ok());
  EXPECT_EQ(reader.error().code, base::Code::kNotFound);
}

TEST(StoreFault, ASecondCoordinatorIsRefusedWithTheFirstOnesPid) {
  TemporaryFolder folder;
  auto first = OpenSqliteStore(folder.path());
  ASSERT_TRUE(first.ok());
  const auto second = OpenSqliteStore(folder.path());
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, base::Code::kConflict);
  EXPECT_NE(second.error().message.find("pid " + std::to_string(getpid())), std::string::npos)
      << second.error().message;
  std::move(*first).reset();
  EXPECT_TRUE(OpenSqliteStore(folder.path()).ok()) << "the lock ends with its owner";
}

TEST(StoreFault, NetworkFileSystemsAreKnownByName) {
  EXPECT_EQ(NetworkFileSystem(0x6969), "NFS");
  EXPECT_EQ(NetworkFileSystem(0xFF534D42), "CIFS");
  EXPECT_EQ(NetworkFileSystem(0xEF53), std::nullopt);
}

TEST(Migrate, CopiesTheFileBeforeAnUpgradeAndKeepsWhatItHolds) {
  TemporaryFolder folder;
  auto database = Database::Open(folder.database(), Database::Mode::kWrite).value();
  const std::array first = {"CREATE TABLE t (a INTEGER) STRICT; INSERT INTO t VALUES (7);"};
  const std::array both = {first[0], "ALTER TABLE t ADD COLUMN b INTEGER; UPDATE t SET b = a + 1;"};
  ASSERT_TRUE(Migrate(*database, first).ok());
  EXPECT_FALSE(std::filesystem::exists(folder.database() + ".v0.bak"))
      << "an empty file needs no backup";
  ASSERT_TRUE(Migrate(*database, both).ok());
  int64_t b = 0;
  Statement upgraded(*database, "SELECT b FROM t");
  while (upgraded.Next()) upgraded.Get(b);
  EXPECT_EQ(b, 8);
  auto backup = Database::Open(folder.database() + ".v1.bak", Database::Mode::kRead).value();
  int64_t a = 0;
  Statement old(*backup, "SELECT a FROM t");
  while (old.Next()) old.Get(a);
  EXPECT_EQ(a, 7);
}

TEST(Migrate, AJobOfAnOlderCoordinatorAskedForANumber) {
  TemporaryFolder folder;
  auto database = Database::Open(folder.database(), Database::Mode::kWrite).value();
  ASSERT_TRUE(Migrate(*database, Schema().first(2)).ok());
  Statement job(*database,
                "INSERT INTO jobs (id, group_id, request_id, name, spec, inspection, prediction, "
                "submitted_at) "
                "VALUES (1, 0, 'r', 'old', ?, '', '', 5)");
  job.Put(std::string_view(job::ToJson(SampleJob(1, "old", "r").spec)));
  database->Execute("INSERT INTO submissions VALUES ('r', 0, 5)");
  job.Run();
  database->Execute(
      "INSERT INTO job_status (job, state, attempt, restarts, cancel_requested, started_at, "
      "ended_at, step, steps, peak_allocated_bytes) "
      "VALUES (1, 'STARTING', 1, 0, 0, 6, 0, 0, 0, 0); "
      "INSERT INTO attempts (job, attempt, placed_at, ended_at, blob) VALUES (1, 1, 6, 0, '')");
  ASSERT_TRUE(Migrate(*database, Schema()).ok());
  const core::StoredState state = LoadState(*database);
  ASSERT_TRUE(database->TakeStatus().ok());
  ASSERT_EQ(state.jobs.size(), 1u);
  EXPECT_EQ(state.jobs[0].row.spec.train.micro_batch_size, 4);
  EXPECT_EQ(state.jobs[0].row.auto_micro_batch, 0);
  EXPECT_EQ(state.jobs[0].status.proven_by, 0);
  EXPECT_EQ(state.jobs[0].attempt->micro_batch_size, 0);
  EXPECT_EQ(state.jobs[0].attempt->trial, core::Trial::kNone);
}

TEST(Migrate, ASiteOfEachEarlierVersionGoesOn) {
  const int64_t newest = std::ssize(Schema());
  for (int64_t version = 1; version < newest; ++version) {
    SCOPED_TRACE("version " + std::to_string(version));
    TemporaryFolder folder;
    {
      auto database = Database::Open(folder.database(), Database::Mode::kWrite).value();
      ASSERT_TRUE(Migrate(*database, Schema().first(version)).ok());
      database->Execute("INSERT INTO submissions VALUES ('old', 0, 5)");
      Statement job(*database,
                    "INSERT INTO jobs (id, group_id, request_id, name, spec, inspection, "
                    "prediction, submitted_at) VALUES (1, 0, 'old', 'old', ?, '', '', 5)");
      job.Put(std::string_view(job::ToJson(SampleJob(1, "old", "old").spec))).Run();
      database->Execute(
          "INSERT INTO job_status (job, state, attempt, restarts, cancel_requested, started_at, "
          "ended_at, step, steps, peak_allocated_bytes) VALUES (1, 'QUEUED', 0, 0, 0, 0, 0, 0, 0, "
          "0); INSERT INTO series (id, job, name, rank, phase, attempt, latest_step, total, count) "
          "VALUES (1, 1, 'loss', 0, '', 1, 1, 2.5, 1); INSERT INTO points VALUES (1, 1, 1, 2.5, "
          "6)");
      ASSERT_TRUE(database->TakeStatus().ok());
    }
    const auto store = OpenSqliteStore(folder.path());
    ASSERT_TRUE(store.ok()) << store.error().message;
    ASSERT_TRUE((*store)->Apply(SubmitBatch(2, "new")).ok());
    const core::StoredState state = (*store)->LoadState().value();
    ASSERT_EQ(state.jobs.size(), 2u);
    EXPECT_EQ(job::ToJson(state.jobs[0].row.spec), job::ToJson(SampleJob(1, "old", "old").spec));
    EXPECT_EQ(state.next_job, 3);
    EXPECT_TRUE(state.gaps.empty());
    const auto summaries = OpenSqliteReader(folder.path()).value()->Summaries({1}).value();
    ASSERT_EQ(summaries.size(), 1u);
    EXPECT_EQ(summaries[0].mean(), 2.5);
    EXPECT_TRUE(
        std::filesystem::exists(folder.database() + ".v" + std::to_string(version) + ".bak"));
  }
}

TEST(Migrate, WhatAnOlderCoordinatorRecordedWasAccepted) {
  TemporaryFolder folder;
  {
    auto database = Database::Open(folder.database(), Database::Mode::kWrite).value();
    ASSERT_TRUE(Migrate(*database, Schema().first(11)).ok());
    database->Execute(
        "INSERT INTO audit (at, actor, action, subject) VALUES (5, 'ann at ipv4:127.0.0.1:1', "
        "'submit', 'j1')");
    ASSERT_TRUE(database->TakeStatus().ok());
  }
  const auto store = OpenSqliteStore(folder.path()).value();
  const AuditRow later{6, "bob", "cancel", "j1", "127.0.0.1:2", "denied: no"};
  ASSERT_TRUE(store->Apply({{}, {later}}).ok());
  const auto rows = OpenSqliteReader(folder.path()).value()->Audit(10).value();
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].verdict, "denied: no");
  EXPECT_EQ(rows[0].address, "127.0.0.1:2");
  EXPECT_EQ(rows[1].actor, "ann at ipv4:127.0.0.1:1");
  EXPECT_EQ(rows[1].verdict, "accepted");
  EXPECT_EQ(rows[1].address, "");
  EXPECT_LT(rows[1].id, rows[0].id);
}

TEST(Migrate, OfAnOlderCoordinatorNothingIsDrained) {
  TemporaryFolder folder;
  {
    auto database = Database::Open(folder.database(), Database::Mode::kWrite).value();
    ASSERT_TRUE(Migrate(*database, Schema().first(12)).ok());
  }
  const auto store = OpenSqliteStore(folder.path()).value();
  EXPECT_TRUE(store->LoadState().value().drains.empty());
  ASSERT_TRUE(store->Apply({{core::DrainRow{"a/0", "ann", "a fan is broken", 5}}, {}}).ok());
  EXPECT_EQ(store->LoadState().value().drains.at(0).reason, "a fan is broken");
}

TEST(Migrate, OfAnOlderCoordinatorNoDeviceHasAFault) {
  TemporaryFolder folder;
  {
    auto database = Database::Open(folder.database(), Database::Mode::kWrite).value();
    ASSERT_TRUE(Migrate(*database, Schema().first(19)).ok());
  }
  const auto store = OpenSqliteStore(folder.path()).value();
  EXPECT_TRUE(store->LoadState().value().faults.empty());
  ASSERT_TRUE(store->Apply({{core::FaultRow{"a/0", "GPU-a", {79, 5}}}, {}}).ok());
  const core::FaultRow fault = store->LoadState().value().faults.at(0);
  EXPECT_EQ(fault.worker, "a/0");
  EXPECT_EQ(fault.fault, (job::DeviceFault{79, 5}));
}

TEST(Migrate, OfAnOlderCoordinatorNoDeviceIsSlow) {
  TemporaryFolder folder;
  {
    auto database = Database::Open(folder.database(), Database::Mode::kWrite).value();
    ASSERT_TRUE(Migrate(*database, Schema().first(21)).ok());
  }
  const auto store = OpenSqliteStore(folder.path()).value();
  EXPECT_TRUE(store->LoadState().value().slow.empty());
  ASSERT_TRUE(store->Apply({{core::SlowRow{"a/0", "GPU-a", {{1}, 2, 3}, 1.5, 5}}, {}}).ok());
  const core::SlowRow slow = store->LoadState().value().slow.at(0);
  EXPECT_EQ(slow.key, (job::RankKey{{1}, 2, 3}));
  EXPECT_EQ(slow.ratio, 1.5);
}

TEST(Migrate, OfAnOlderCoordinatorNothingIsLeased) {
  TemporaryFolder folder;
  {
    auto database = Database::Open(folder.database(), Database::Mode::kWrite).value();
    ASSERT_TRUE(Migrate(*database, Schema().first(14)).ok());
  }
  const auto store = OpenSqliteStore(folder.path()).value();
  EXPECT_TRUE(store->LoadState().value().leases.empty());
  core::LeaseRow lease{1, "lab", "ann", "r1", {"a/0", "a/1"}, 200, 300, 100, 0};
  ASSERT_TRUE(store->Apply({{lease}, {}}).ok());
  lease.end = 350;
  ASSERT_TRUE(store->Apply({{lease}, {}}).ok());
  const core::StoredState state = store->LoadState().value();
  ASSERT_EQ(state.leases.size(), 1u);
  EXPECT_EQ(state.leases[0].end, 350);
  EXPECT_EQ(state.leases[0].workers, lease.workers);
  EXPECT_EQ(state.next_lease, 2);
  lease.over_at = 350;
  ASSERT_TRUE(store->Apply({{lease}, {}}).ok());
  EXPECT_TRUE(store->LoadState().value().leases.empty());
  EXPECT_EQ(store->LoadState().value().next_lease, 2) << "its number is not given again";
}

// What a job had still counts once it is removed, as it did before.
TEST(Migrate, OfAnOlderCoordinatorEachAttemptThatEndedWasUse) {
  TemporaryFolder folder;
  {
    auto database = Database::Open(folder.database(), Database::Mode::kWrite).value();
    ASSERT_TRUE(Migrate(*database, Schema().first(16)).ok());
    Statement fill(*database, "INSERT INTO submissions VALUES ('r', 0, 1)");
    fill.Run();
    Statement job(*database,
                  "INSERT INTO jobs (id, group_id, request_id, name, spec, inspection, prediction, "
                  "submitted_at, user) VALUES (1, 0, 'r', 'lab', '{}', '', '', 1, 'ann')");
    job.Run();
    Statement attempts(*database,
                       "INSERT INTO attempts (job, attempt, placed_at, ended_at, blob) VALUES "
                       "(1, 1, 100, 200, ''), (1, 2, 300, 0, '')");
    attempts.Run();
    for (const char* rank : {"0", "1"}) {
      Statement ranks(*database,
                      "INSERT INTO ranks (job, attempt, rank, worker, host, device_uuid, "
                      "device_name, confirmed, pid, source_commit, libtorch, nccl, driver, "
                      "started_device_name, phase, done_bytes, total_bytes, step, steps, stage, "
                      "peak_allocated_bytes, proof, oom_killed, last_log_lines, failure, "
                      "ended_by_stop, ended_at) VALUES (1, 1, " +
                          std::string(rank) +
                          ", 'a/0', 'a', '', '', 1, 1, '', '', '', '', '', '', 0, 0, 0, 0, '', 0, "
                          "'exited', 0, '', '', 0, 200)");
      ranks.Run();
    }
  }
  const auto store = OpenSqliteStore(folder.path()).value();
  const auto reader = OpenSqliteReader(folder.path()).value();
  const auto use = [&](base::WallMicros since) { return reader->UseSince(since).value(); };
  const auto expect_use_of_ann = [&] {
    ASSERT_EQ(use(0).size(), 1u);
    EXPECT_EQ(use(0)[0].user, "ann");
    EXPECT_EQ(use(0)[0].devices, 2);
    EXPECT_EQ(use(0)[0].from, 100);
    EXPECT_EQ(use(0)[0].to, 200);
    EXPECT_TRUE(use(201).empty());
  };
  expect_use_of_ann();
  ASSERT_TRUE(store->Apply({{core::RemoveJob{{1}}}, {}}).ok());
  expect_use_of_ann();
}

TEST(Store, TheUseOfALeaseIsToldOnceItIsOver) {
  const TemporaryFolder folder;
  const auto store = OpenSqliteStore(folder.path()).value();
  const auto reader = OpenSqliteReader(folder.path()).value();
  core::LeaseRow lease{1, "lab", "ann", "r1", {"a/0", "a/1"}, 100, 200, 50, 0};
  ASSERT_TRUE(store->Apply({{lease}, {}}).ok());
  EXPECT_TRUE(reader->UseSince(0).value().empty()) << "it is in the state";
  lease.over_at = 210;
  ASSERT_TRUE(store->Apply({{lease}, {}}).ok());
  const auto use = reader->UseSince(200).value();
  ASSERT_EQ(use.size(), 1u);
  EXPECT_EQ(use[0].user, "ann");
  EXPECT_EQ(use[0].devices, 2);
  EXPECT_EQ(use[0].from, 100);
  EXPECT_EQ(use[0].to, 200);
  EXPECT_TRUE(reader->UseSince(201).value().empty());
}

TEST(FindFault, LeasesThatOverlapAreDamage) {
  core::StoredState state;
  state.site = "site";
  state.leases = {{1, "lab", "ann", "r1", {"a/0"}, 200, 300, 100, 0},
                  {2, "test", "bob", "r2", {"a/0"}, 300, 400, 100, 0}};
  state.next_lease = 3;
  EXPECT_EQ(FindFault(state), "");
  state.leases[0].end = 301;
  EXPECT_EQ(FindFault(state), "leases overlap on 'a/0', one of them 'lab'");
}

TEST(FindFault, ADatabaseWithoutASitesIdIsDamaged) {
  EXPECT_EQ(FindFault(core::StoredState()), "it has no site id");
}

// How SQLite goes about the question.
std::string PlanOf(Database& database, const std::string& sql) {
  Statement statement(database, "EXPLAIN QUERY PLAN " + sql);
  std::string plan;
  while (statement.Next()) {
    int64_t id = 0, parent = 0, unused = 0;
    std::string step;
    statement.Get(id, parent, unused, step);
    plan += step + "\n";
  }
  return plan;
}

TEST(Migrate, NeighboursOfAJobAreFoundByAnIndexOfTheirHost) {
  TemporaryFolder folder;
  auto database = Database::Open(folder.database(), Database::Mode::kWrite).value();
  ASSERT_TRUE(Migrate(*database, Schema().first(8)).ok());
  EXPECT_NE(PlanOf(*database, kNeighboursSql).find("SCAN other"), std::string::npos);
  ASSERT_TRUE(Migrate(*database, Schema()).ok());
  const std::string plan = PlanOf(*database, kNeighboursSql);
  EXPECT_NE(plan.find("SEARCH other USING COVERING INDEX ranks_by_host"), std::string::npos)
      << plan;
  EXPECT_EQ(plan.find("SCAN"), std::string::npos) << plan;
}

TEST(Migrate, WhatIsGoneIsFoundByItsPath) {
  TemporaryFolder folder;
  auto database = Database::Open(folder.database(), Database::Mode::kWrite).value();
  ASSERT_TRUE(Migrate(*database, Schema().first(10)).ok());
  EXPECT_NE(PlanOf(*database, kForgetArtefactSql).find("SCAN artefacts"), std::string::npos);
  ASSERT_TRUE(Migrate(*database, Schema()).ok());
  const std::string plan = PlanOf(*database, kForgetArtefactSql);
  EXPECT_EQ(plan.find("SCAN"), std::string::npos) << plan;
}

TEST(Migrate, AStepThatFailsChangesNothing) {
  TemporaryFolder folder;
  auto database = Database::Open(folder.database(), Database::Mode::kWrite).value();
  const std::array broken = {"CREATE TABLE t (a INTEGER) STRICT;",
                             "CREATE TABLE u (a INTEGER) STRICT; INSERT INTO missing VALUES (1);"};
  EXPECT_FALSE(Migrate(*database, broken).ok());
  Statement statement(
      *database,
      "SELECT COUNT(*), (SELECT user_version FROM pragma_user_version) FROM sqlite_schema");
  int64_t tables = 0, version = 0;
  while (statement.Next()) statement.Get(tables, version);
  EXPECT_EQ(tables, 1);
  EXPECT_EQ(version, 1);
}

TEST(Migrate, AFileOfANewerCoordinatorIsRefused) {
  TemporaryFolder folder;
  auto database = Database::Open(folder.database(), Database::Mode::kWrite).value();
  database->Execute("PRAGMA user_version = 99");
  const base::Status status = Migrate(*database, Schema());
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, base::Code::kInvalid);
}

}  // namespace
}  // namespace trainctl::store
