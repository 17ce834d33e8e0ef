// What is stored comes back, after the process that stored it has gone.
#include "server/store/sqlite_store.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include <map>

#include "common/job/job_json.h"
#include "server/store/database.h"
#include "server/store/statement.h"
#include "tests/server/describe.h"
#include "tests/server/ledger.h"
#include "tests/server/sample_rows.h"
#include "tests/server/temporary_folder.h"

namespace trainctl::store {
namespace {

class SqliteStoreTest : public testing::Test {
 protected:
  SqliteStoreTest() { Reopen(); }

  // As a coordinator that was restarted.
  void Reopen() {
    reader_.reset();
    store_.reset();
    store_ = OpenSqliteStore(folder_.path()).value();
    reader_ = OpenSqliteReader(folder_.path()).value();
  }
  void Apply(const Batch& batch) {
    const base::Status status = store_->Apply(batch);
    ASSERT_TRUE(status.ok()) << status.error().message;
  }

  TemporaryFolder folder_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<Reader> reader_;
};

TEST_F(SqliteStoreTest, AFreshStoreIsEmptyAndCountsFromOne) {
  const core::StoredState state = store_->LoadState().value();
  EXPECT_TRUE(state.jobs.empty());
  EXPECT_TRUE(state.workers.empty());
  EXPECT_EQ(state.next_job, 1);
  EXPECT_EQ(state.next_group, 1);
}

TEST_F(SqliteStoreTest, EveryRowOfAnUnfinishedJobComesBackForTheRestart) {
  const Batch batch = EveryRow();
  Apply(batch);
  Reopen();
  core::Ledger ledger;
  ledger.Apply(batch.rows);
  const core::StoredState state = store_->LoadState().value();
  EXPECT_EQ(core::Describe(state), core::Describe(ledger.LoadState()));
  ASSERT_EQ(state.jobs.size(), 1u);
  EXPECT_EQ(job::ToJson(state.jobs[0].row.spec), job::ToJson(SampleJob(1, "first", "").spec));
  ASSERT_TRUE(state.jobs[0].ranks[1].outcome->oom);
  EXPECT_EQ(state.jobs[0].ranks[1].outcome->oom->memory.reserved, 8);
}

TEST_F(SqliteStoreTest, AJobsSmallerMicroBatchTakesThePlaceOfTheOneThatDidNotFit) {
  Apply(SubmitBatch(1, "auto"));
  job::JobSpec spec = SampleJob(1, "auto", "").spec;
  spec.train.micro_batch_size = 2;
  Batch smaller;
  smaller.rows = {core::UpdateSpec{{1}, spec, SamplePrediction(5)}};
  Apply(smaller);
  Reopen();
  const core::JobRow row = store_->LoadState().value().jobs.at(0).row;
  EXPECT_EQ(job::ToJson(row.spec), job::ToJson(spec));
  EXPECT_EQ(row.prediction->memory.peak_allocated, 5);
  EXPECT_EQ(row.auto_micro_batch, 8);
}

TEST_F(SqliteStoreTest, EveryRowComesBackForReaders) {
  Apply(EveryRow());
  Reopen();
  const base::JobId id{1};
  const std::vector<StoredAttempt> attempts = reader_->Attempts(id).value();
  ASSERT_EQ(attempts.size(), 2u);
  EXPECT_EQ(attempts[0].row.end->message, SampleEnd().message);
  EXPECT_EQ(attempts[0].row.end->oom->phase, job::OomPhase{job::Work::kBackward});
  EXPECT_EQ(attempts[0].row.end->last_log_lines, "last\nlines");
  EXPECT_EQ(attempts[1].row.stop->outcome, job::Outcome::kHang);
  ASSERT_EQ(attempts[1].ranks.size(), 2u);
  EXPECT_EQ(attempts[1].ranks[1].started.driver, "580.1");
  EXPECT_EQ(attempts[1].ranks[1].proof, core::Proof::kExited);
  const std::vector<core::EventRow> events = reader_->Events(id).value();
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[1].text, "placed");
  EXPECT_EQ(events[1].at, 102);
  const core::ArtefactRow artefact = reader_->Artefacts(id).value().at(0);
  EXPECT_EQ(artefact.saved.path, "/out");
  EXPECT_EQ(artefact.saved.bytes, 4096);
  EXPECT_EQ(artefact.at, 170);
  EXPECT_EQ(reader_->Continuations(id, {}).value(),
            (std::vector<job::RankContinuation>{{4, 0, "Once", " upon"}}));
  EXPECT_EQ(reader_->Workers().value().at(0).device.memory_bytes, int64_t{141} << 30);
  EXPECT_EQ(reader_->Audit(1).value().at(0).actor, "bob");
}

TEST_F(SqliteStoreTest, AHistoryIsInOrderOfTimeThoughItCameLate) {
  Batch batch = SubmitBatch(1, "late");
  for (const auto& [at, text] : {std::pair(500, "worker a/0 is back"), std::pair(300, "saved"),
                                 std::pair(300, "saved again"), std::pair(400, "notice")})
    batch.rows.push_back(core::EventRow{{1}, at, text});
  Apply(batch);
  const std::vector<core::EventRow> events = reader_->Events({1}).value();
  std::vector<std::string> texts;
  for (const core::EventRow& event : events) texts.push_back(event.text);
  EXPECT_EQ(texts,
            (std::vector<std::string>{"saved", "saved again", "notice", "worker a/0 is back"}));
}

TEST_F(SqliteStoreTest, RowsOfTheSameKeyAreReplaced) {
  Apply(EveryRow());
  core::AttemptRow attempt{{1}, 2, 130, 180, "blob-3", std::nullopt, SampleEnd()};
  core::WorkerRow worker = SampleWorker("a/0");
  worker.boot_id = "boot-2";
  Apply({{attempt, worker, core::AckRow{{{1}, 2, 1}, 42}}, {}});
  EXPECT_EQ(reader_->Attempts({1}).value().at(1).row.blob, "blob-3");
  EXPECT_EQ(reader_->Attempts({1}).value().at(1).ranks.size(), 2u);
  EXPECT_EQ(reader_->Workers().value().at(0).boot_id, "boot-2");
  EXPECT_EQ(store_->LoadState().value().acks.at({{1}, 2, 1}), 42);
}

TEST_F(SqliteStoreTest, FinishedJobsAreOnlyForReaders) {
  Apply(SubmitBatch(1, "first"));
  core::JobStatus status;
  status.state = job::JobState::kFinished;
  status.end = SampleEnd();
  status.as_expected = true;
  status.ended_at = 300;
  Apply({{core::UpdateJob{{1}, status}}, {}});
  Reopen();
  EXPECT_TRUE(store_->LoadState().value().jobs.empty());
  const StoredJob job = reader_->Jobs({}).value().at(0);
  EXPECT_EQ(job.status.state, job::JobState::kFinished);
  EXPECT_EQ(job.status.end->outcome, job::Outcome::kOomGpu);
  EXPECT_EQ(job.status.end->signal, 9);
  EXPECT_EQ(job.status.as_expected, true);
  EXPECT_EQ(job.status.ended_at, 300);
}

TEST_F(SqliteStoreTest, IdsGoOnAfterARestart) {
  Apply(EveryRow());
  Apply(SubmitBatch(7, "seventh"));
  Reopen();
  EXPECT_EQ(store_->LoadState().value().next_job, 8);
  EXPECT_EQ(store_->LoadState().value().next_group, 2);
}

TEST_F(SqliteStoreTest, ASubmissionIsFoundByItsRequest) {
  Apply(EveryRow());
  const auto found = reader_->FindSubmission("request-1").value();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->group, base::GroupId{1});
  EXPECT_EQ(found->jobs, (std::vector<base::JobId>{{1}}));
  EXPECT_FALSE(reader_->FindSubmission("request-2").value());
}

TEST_F(SqliteStoreTest, JobsAndGroupsAreFoundByIdAndByTheNewestOfAName) {
  Apply(EveryRow());
  Apply(SubmitBatch(2, "twin"));
  Apply(SubmitBatch(3, "twin"));
  EXPECT_EQ(reader_->Find("j2").value().jobs, (std::vector<base::JobId>{{2}}));
  EXPECT_EQ(reader_->Find("twin").value().jobs, (std::vector<base::JobId>{{3}}));
  EXPECT_EQ(reader_->Find("g1").value().jobs, (std::vector<base::JobId>{{1}}));
  EXPECT_EQ(reader_->Find("lab").value().group, base::GroupId{1});
  EXPECT_EQ(reader_->LatestGroup().value().group_name, "lab");
  EXPECT_TRUE(reader_->Find("j9").value().jobs.empty());
  EXPECT_TRUE(reader_->Find("'; DROP TABLE jobs; --").value().jobs.empty());
}

TEST_F(SqliteStoreTest, JobsAreListedNewestFirstAndFiltered) {
  Apply(EveryRow());
  for (int64_t id = 2; id <= 5; ++id) Apply(SubmitBatch(id, "n"));
  const auto ids = [&](const JobFilter& filter) {
    std::vector<int64_t> result;
    const std::vector<StoredJob> jobs = reader_->Jobs(filter).value();
    for (const StoredJob& job : jobs) result.push_back(job.row.id.value);
    return result;
  };
  EXPECT_EQ(ids({}), (std::vector<int64_t>{5, 4, 3, 2, 1}));
  EXPECT_EQ(ids({.limit = 2}), (std::vector<int64_t>{5, 4}));
  EXPECT_EQ(ids({.before = {4}, .limit = 2}), (std::vector<int64_t>{3, 2}));
  EXPECT_EQ(ids({.states = {job::JobState::kStarting}}), (std::vector<int64_t>{1}));
  EXPECT_EQ(ids({.jobs = {{2}, {4}, {9}}, .unfinished_only = true}), (std::vector<int64_t>{4, 2}));
  EXPECT_EQ(ids({.names = {"n"}}), (std::vector<int64_t>{5, 4, 3, 2}));
  EXPECT_EQ(ids({.names = {"lab", "none"}, .unfinished_only = true}), (std::vector<int64_t>{1}));
  const StoredJob job = reader_->Jobs({.jobs = {{1}}}).value().at(0);
  EXPECT_EQ(job.group_name, "lab");
  EXPECT_EQ(job.placement, (std::vector<std::string>{"a/0", "a/1"}));
  EXPECT_EQ(job.status.progress.loss, 1.25);
}

TEST_F(SqliteStoreTest, JobsAreListedByUserTagAndOutcome) {
  Batch batch;
  for (int64_t id = 1; id <= 3; ++id) {
    const std::string request = "request-" + std::to_string(id);
    core::JobRow job = SampleJob(id, "n", request);
    job.user = id == 1 ? "ann" : "ben";
    job.spec.tags = {{"lab", std::to_string(id)}};
    if (id == 3) job.spec.tags = {{"a 'b'", "c=d"}};
    batch.rows.push_back(core::SubmissionRow{request, {}, 100});
    batch.rows.push_back(std::move(job));
    core::JobStatus status;
    if (id == 2) status.state = job::JobState::kFinished;
    if (id == 2) status.end = SampleEnd();
    batch.rows.push_back(core::UpdateJob{{id}, status});
  }
  Apply(batch);
  const auto ids = [&](const JobFilter& filter) {
    std::vector<int64_t> result;
    const std::vector<StoredJob> jobs = reader_->Jobs(filter).value();
    for (const StoredJob& job : jobs) result.push_back(job.row.id.value);
    return result;
  };
  using Ids = std::vector<int64_t>;
  EXPECT_EQ(ids({.users = {"ben"}}), (Ids{3, 2}));
  EXPECT_EQ(ids({.tags = {{"lab", "2"}}}), (Ids{2}));
  EXPECT_EQ(ids({.tags = {{"lab", std::nullopt}}}), (Ids{2, 1}));
  EXPECT_EQ(ids({.tags = {{"a 'b'", "c=d"}}}), (Ids{3}));
  EXPECT_EQ(ids({.outcomes = {SampleEnd().outcome}}), (Ids{2}));
  EXPECT_EQ(ids({.states = {job::JobState::kQueued}, .outcomes = {SampleEnd().outcome}}),
            (Ids{3, 2, 1}));
  EXPECT_EQ(ids({.users = {"ann"}, .tags = {{"lab", "2"}}}), Ids{});
  const JobCounts counts = reader_->CountJobs().value();
  EXPECT_EQ(counts.states, (std::map<job::JobState, int64_t>{{job::JobState::kQueued, 2},
                                                             {job::JobState::kFinished, 1}}));
  EXPECT_EQ(counts.outcomes, (std::map<job::Outcome, int64_t>{{SampleEnd().outcome, 1}}));
}

TEST_F(SqliteStoreTest, AReaderSeesACommitAtOnce) {
  EXPECT_TRUE(reader_->Jobs({}).value().empty());
  Apply(SubmitBatch(1, "first"));
  EXPECT_EQ(reader_->Jobs({}).value().size(), 1u);
}

TEST_F(SqliteStoreTest, WhatARankSaysIsGoneIsForgottenOnItsHostWhoeverSavedIt) {
  const auto run = [&](int64_t id, const std::string& host) {
    Batch batch = SubmitBatch(id, "job");
    core::RankRow rank = SampleRank({{id}, 1, 0});
    rank.host = host;
    batch.rows.push_back(core::AttemptRow{.job = {id}, .attempt = 1});
    batch.rows.push_back(rank);
    Apply(batch);
  };
  const auto save = [&](int64_t id, const job::RankSaved& saved) {
    Apply({{core::ArtefactRow{{{id}, 1, 0}, saved, 1}}, {}});
  };
  const auto paths = [&](int64_t id) {
    std::vector<std::string> found;
    const std::vector<core::ArtefactRow> rows = reader_->Artefacts({id}).value();
    for (const core::ArtefactRow& row : rows) found.push_back(row.saved.path);
    return found;
  };
  using Paths = std::vector<std::string>;
  run(1, "a");
  run(2, "a");
  run(3, "b");
  for (const int64_t id : {1, 3}) {
    save(id, {"checkpoint", "/out/step-1"});
    save(id, {"checkpoint", "/out/step-2"});
  }
  save(2, {"checkpoint", "/out/step-3", 0, "", {"/out/step-1", "/never"}});
  Reopen();
  EXPECT_EQ(paths(1), (Paths{"/out/step-2"}));
  EXPECT_EQ(paths(2), (Paths{"/out/step-3"}));
  EXPECT_EQ(paths(3), (Paths{"/out/step-1", "/out/step-2"})) << "another host's folder";
  save(2, {"checkpoint", "/out/step-2"});
  EXPECT_TRUE(paths(1).empty()) << "replaced by another job's";
}

TEST_F(SqliteStoreTest, OfTheTextsTheFirstAndTheLastStepAreReadAndALaterAttemptReplacesItsOwn) {
  Apply(SubmitBatch(1, "texts"));
  const auto say = [&](const job::RankContinuation& said) {
    Apply({{core::ContinuationRow{{1}, said}}, {}});
  };
  for (const int64_t step : {9, 19, 29}) {
    say({step, 1, "b", "b" + std::to_string(step)});
    say({step, 0, "a", "a" + std::to_string(step)});
  }
  say({29, 0, "a", "again"});
  Reopen();
  EXPECT_EQ(reader_->Continuations({1}, {}).value(),
            (std::vector<job::RankContinuation>{
                {9, 0, "a", "a9"}, {9, 1, "b", "b9"}, {29, 0, "a", "again"}, {29, 1, "b", "b29"}}));
  EXPECT_TRUE(reader_->Continuations({2}, {}).value().empty());
  EXPECT_EQ(reader_->Continuations({1}, {.all = true}).value().size(), 6u);
  EXPECT_EQ(reader_->Continuations({1}, {.step = 19}).value(),
            (std::vector<job::RankContinuation>{{19, 0, "a", "a19"}, {19, 1, "b", "b19"}}));
  EXPECT_TRUE(reader_->Continuations({1}, {.step = 20}).value().empty());
  EXPECT_EQ(reader_->TextSteps({1}).value(), (std::vector<int64_t>{9, 19, 29}));
  Apply({{core::RewindRow{{1}, 2, 19}}, {}});
  EXPECT_EQ(reader_->Continuations({1}, {}).value().back().step, 19) << "after 19 steps";
  Apply({{core::RewindRow{{1}, 3, 18}}, {}});
  EXPECT_EQ(reader_->Continuations({1}, {}).value().back().step, 9);
  say({0, 0, "a", "of a job without training"});
  Apply({{core::RewindRow{{1}, 4, 0}}, {}});
  EXPECT_TRUE(reader_->Continuations({1}, {}).value().empty());
}

TEST_F(SqliteStoreTest, OfManyEvaluationsTheTextsOfTheFirstAndOfTheNewestAreKept) {
  Apply(SubmitBatch(1, "texts"));
  constexpr int64_t kSteps = 40, kFirstKept = kSteps - job::kNewestTextsKept;
  for (int64_t step = 0; step < kSteps; ++step)
    Apply({{core::ContinuationRow{{1}, {step, 0, "a", "b"}}}, {}});
  const auto count = [&](const std::string& where) {
    auto database = Database::Open(DatabasePath(folder_.path()), Database::Mode::kRead).value();
    Statement statement(*database, "SELECT COUNT(*) FROM continuations WHERE " + where);
    int64_t rows = 0;
    while (statement.Next()) statement.Get(rows);
    return rows;
  };
  EXPECT_EQ(count("step = 0"), 1);
  EXPECT_EQ(count("step BETWEEN 1 AND " + std::to_string(kFirstKept - 1)), 0);
  EXPECT_EQ(count("step >= " + std::to_string(kFirstKept)), job::kNewestTextsKept);
}

// The rows of each table, but for the site's, the workers' and the audit log's.
std::map<std::string, int64_t> CountRows(const std::string& folder) {
  auto database = Database::Open(DatabasePath(folder), Database::Mode::kRead).value();
  std::map<std::string, int64_t> counts;
  for (const char* table : {"groups", "jobs", "job_status", "attempts", "ranks", "acks", "events",
                            "artefacts", "continuations", "series", "points", "removed_use"}) {
    Statement statement(*database, std::string("SELECT COUNT(*) FROM ") + table);
    while (statement.Next()) statement.Get(counts[table]);
  }
  EXPECT_TRUE(database->TakeStatus().ok());
  return counts;
}

TEST_F(SqliteStoreTest, OfARemovedJobNothingIsLeftAndOfOthersEverything) {
  Batch other = SubmitBatch(2, "other");
  other.rows.insert(other.rows.begin() + 1, core::GroupRow{{2}, "pair", 100, 0});
  std::get<core::JobRow>(other.rows[2]).group = {2};
  other.rows.push_back(core::EventRow{{2}, 101, "submitted"});
  Apply(other);
  const std::map<std::string, int64_t> before = CountRows(folder_.path());
  Apply(EveryRow());
  EXPECT_NE(CountRows(folder_.path()), before);
  Batch removal;
  removal.rows = {core::RemoveJob{{1}}};
  Apply(removal);
  std::map<std::string, int64_t> after = before;
  after["removed_use"] = 1;  // of its one attempt that ended
  EXPECT_EQ(CountRows(folder_.path()), after);
  EXPECT_TRUE(reader_->Find("lab").value().jobs.empty()) << "its group has gone with it";
  EXPECT_TRUE(reader_->FindSubmission("request-1").value()) << "it is not submitted twice";
  Reopen();
  EXPECT_EQ(store_->LoadState().value().next_job, 3) << "its number is not given again";
}

TEST_F(SqliteStoreTest, JobsThatEndedBeforeATimeAreFound) {
  for (int64_t id = 1; id <= 3; ++id) {
    Batch batch = SubmitBatch(id, "job");
    core::JobStatus status;
    if (id < 3) {
      status.state = job::JobState::kFinished;
      status.end = SampleEnd();
      status.ended_at = id * 100;
    }
    batch.rows.push_back(core::UpdateJob{{id}, status});
    Apply(batch);
  }
  const auto found = reader_->Jobs({.ended_before = 200}).value();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].row.id.value, 1);
}

TEST_F(SqliteStoreTest, NeighboursAreJobsOfTheSameHostAtTheSameTime) {
  const auto run = [&](int64_t id, const std::string& host, const std::string& uuid, int64_t from,
                       int64_t until) {
    Batch batch = SubmitBatch(id, "job");
    core::RankRow rank = SampleRank({{id}, 1, 0});
    rank.host = host;
    rank.device_uuid = uuid;
    core::AttemptRow attempt{.job = {id}, .attempt = 1, .placed_at = from, .ended_at = until};
    batch.rows.push_back(attempt);
    batch.rows.push_back(rank);
    Apply(batch);
  };
  run(1, "a", "cpu:a:0", 100, 200);
  run(2, "a", "cpu:a:1", 150, 0);  // still runs
  run(3, "a", "cpu:a:0", 200, 300);
  run(4, "b", "cpu:b:0", 100, 200);
  run(5, "a", "GPU-1", 50, 101);
  const std::vector<job::Neighbour> found = reader_->Neighbours({1}).value();
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].job.value, 2);
  EXPECT_EQ(found[0].host, "a");
  EXPECT_TRUE(found[0].on_slots);
  EXPECT_EQ(found[1].job.value, 5);
  EXPECT_FALSE(found[1].on_slots);
}

// The folder and the database tell of all users' jobs.
TEST(Store, IsClosedToOtherUsers) {
  const TemporaryFolder folder;
  const std::filesystem::path site = folder.path() + "/new/site";
  const mode_t before = umask(0);
  {
    const auto store = OpenSqliteStore(site);
    umask(before);
    ASSERT_TRUE(store.ok()) << store.error().message;
    for (const auto& file : std::filesystem::directory_iterator(site)) {
      EXPECT_EQ(file.status().permissions(), std::filesystem::perms(0600)) << file.path();
    }
  }
  EXPECT_EQ(std::filesystem::status(site).permissions(), std::filesystem::perms(0700));
}

}  // namespace
}  // namespace trainctl::store
