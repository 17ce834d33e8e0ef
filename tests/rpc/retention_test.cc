// What a site's policy lets go, and when.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <span>

#include "common/job/job_json.h"
#include "server/coordinator/coordinator.h"
#include "server/coordinator/event_loop.h"
#include "server/coordinator/read_thread.h"
#include "server/store/sqlite_store.h"
#include "tests/rpc/flaky_store.h"
#include "tests/rpc/temporary_folder.h"
#include "tests/rpc/test_site.h"

namespace trainctl::coordinator {
namespace {

TEST(Retention, PointsOfAJobThatEndedLongAgoGoAndTheAuditLogSaysSo) {
  constexpr int64_t kHour = 3'600'000'000, kSteps = 5'000;
  const rpc_test::TemporaryFolder folder;
  const auto sqlite = store::OpenSqliteStore(folder.path()).value();
  const auto reader = store::OpenSqliteReader(folder.path()).value();
  base::FakeClock clock;
  LogFiles logs(folder.path() + "/logs");
  rpc_test::QuietLog log;
  EventLoop loop;
  core::JobRow row{.id = {1}, .request_id = "r1"};
  row.spec = job::FromJson(rpc_test::JobJson("tiny")).value();
  core::JobStatus status{.state = job::JobState::kFinished, .ended_at = clock.Wall()};
  status.end = job::AttemptEnd{.outcome = job::Outcome::kSucceeded};
  core::MetricRows losses{{{1}, 1, 0}, {}};
  for (int64_t step = 0; step < kSteps; ++step)
    losses.points.push_back(
        {"loss", step, std::nullopt, std::nullopt, 1.0 / double(step + 1), step});
  ASSERT_TRUE(
      sqlite->Apply({{core::SubmissionRow{"r1"}, row, core::UpdateJob{{1}, status}, losses}, {}})
          .ok());
  const auto count = [&] {
    int64_t points = 0;
    EXPECT_TRUE(reader
                    ->Points({1}, {},
                             [&](std::span<const job::MetricPoint> piece) {
                               points += static_cast<int64_t>(piece.size());
                               return true;
                             })
                    .ok());
    return points;
  };
  ReadThread reads(loop, store::OpenSqliteReader(folder.path()).value());
  Coordinator coordinator({.loop = loop,
                           .clock = clock,
                           .store = *sqlite,
                           .reader = *reader,
                           .reads = reads,
                           .logs = logs,
                           .log = log,
                           .options = {.policy = {.points_after_us = kHour}}});
  ASSERT_TRUE(coordinator.Start().ok());
  loop.Start();
  loop.Call([&] { EXPECT_EQ(count(), kSteps); });
  loop.Call([&] { clock.Advance(kHour + 1); });
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  std::vector<store::AuditRow> audit;
  while (audit.empty() && std::chrono::steady_clock::now() < deadline)
    loop.Call([&] { audit = reader->Audit(1).value(); });
  loop.Call([&] {
    ASSERT_EQ(audit.size(), 1u);
    EXPECT_EQ(audit[0].action, "thin");
    EXPECT_EQ(audit[0].subject, "j1");
    EXPECT_LT(count(), 1'000);
    EXPECT_THAT(reader->Events({1}).value().back().text, testing::HasSubstr("thinned"));
  });
  loop.Stop();
}

TEST(OldLogs, NothingIsRemovedBeforeItIsStoredThatItIs) {
  constexpr int64_t kHour = 3'600'000'000;
  const rpc_test::TemporaryFolder folder;
  const auto sqlite = store::OpenSqliteStore(folder.path()).value();
  const auto reader = store::OpenSqliteReader(folder.path()).value();
  FlakyStore store(*sqlite);
  base::FakeClock clock;
  LogFiles logs(folder.path() + "/logs");
  rpc_test::QuietLog log;
  EventLoop loop;
  core::JobRow row{.id = {1}, .request_id = "r1"};
  row.spec = job::FromJson(rpc_test::JobJson("tiny")).value();
  core::JobStatus status{.state = job::JobState::kFinished, .ended_at = clock.Wall()};
  status.end = job::AttemptEnd{.outcome = job::Outcome::kCancelled};
  ASSERT_TRUE(
      sqlite->Apply({{core::SubmissionRow{"r1"}, row, core::UpdateJob{{1}, status}}, {}}).ok());
  ASSERT_TRUE(logs.Append({{1}, 1, 0}, 0, "a line").ok());
  ReadThread reads(loop, store::OpenSqliteReader(folder.path()).value());
  Coordinator coordinator({.loop = loop,
                           .clock = clock,
                           .store = store,
                           .reader = *reader,
                           .reads = reads,
                           .logs = logs,
                           .log = log,
                           .options = {.policy = {.logs_after_us = kHour}}});
  ASSERT_TRUE(coordinator.Start().ok());
  loop.Start();
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  const auto wait_for = [&](const std::function<bool()>& is_so) {
    bool is = false;
    while (!is && std::chrono::steady_clock::now() < deadline) loop.Call([&] { is = is_so(); });
    EXPECT_TRUE(is);
  };
  const auto removed_at = [&] { return reader->Jobs({}).value().at(0).logs_removed_at; };
  loop.Call([&] {
    store.is_full = true;
    clock.Advance(2 * kHour);
  });
  wait_for([&] { return store.marks > 0; });
  loop.Call([&] {
    EXPECT_TRUE(*logs.Has({1}));
    EXPECT_EQ(removed_at(), 0);
    store.is_full = false;
    clock.Advance(2 * kHour);
  });
  wait_for([&] { return !*logs.Has({1}); });
  loop.Call([&] {
    EXPECT_GT(removed_at(), 0);
    EXPECT_EQ(reader->Audit(10).value().size(), 1u);
  });
  loop.Stop();
}

// j1 is there, j2 was removed, and of j3 nobody knows: an older database may lie here.
TEST(RemovedJobs, LogsThatAKillLeftGoAtTheNextStart) {
  const rpc_test::TemporaryFolder folder;
  const auto sqlite = store::OpenSqliteStore(folder.path()).value();
  const auto reader = store::OpenSqliteReader(folder.path()).value();
  base::FakeClock clock;
  LogFiles logs(folder.path() + "/logs");
  rpc_test::QuietLog log;
  EventLoop loop;
  core::JobRow row{.id = {1}, .request_id = "r1"};
  row.spec = job::FromJson(rpc_test::JobJson("tiny")).value();
  store::Batch batch{{core::SubmissionRow{"r1"}, row, core::UpdateJob{{1}, {}}}, {}};
  batch.audit.push_back({.action = "submit", .subject = "j3"});
  for (const char* job : {"j1", "j2"})
    batch.audit.push_back({.action = std::string(store::kRemovesJob), .subject = job});
  ASSERT_TRUE(sqlite->Apply(batch).ok());
  for (const int64_t job : {1, 2, 3}) ASSERT_TRUE(logs.Append({{job}, 1, 0}, 0, "a line").ok());
  ReadThread reads(loop, store::OpenSqliteReader(folder.path()).value());
  Coordinator coordinator({.loop = loop,
                           .clock = clock,
                           .store = *sqlite,
                           .reader = *reader,
                           .reads = reads,
                           .logs = logs,
                           .log = log,
                           .options = {}});
  ASSERT_TRUE(coordinator.Start().ok());
  loop.Start();
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  bool has = true;
  while (has && std::chrono::steady_clock::now() < deadline)
    loop.Call([&] { has = *logs.Has({2}); });
  EXPECT_FALSE(has);
  loop.Call([&] {
    EXPECT_TRUE(*logs.Has({1}));
    EXPECT_TRUE(*logs.Has({3}));
  });
  loop.Stop();
}

}  // namespace
}  // namespace trainctl::coordinator
