// Jobs whose stored file the present schema refuses: shown, cancelled, never started.
#include <gtest/gtest.h>

#include "server/core/step.h"
#include "tests/server/describe.h"
#include "tests/server/sample_rows.h"

namespace trainctl::core {
namespace {

constexpr Now kNow{1'000'000'000, 1'000'000'000};

UnfinishedJob Unreadable(int64_t id) {
  UnfinishedJob job{store::SampleJob(id, "old", "r"), {}, std::nullopt, {}};
  job.row.spec = {};
  job.row.spec.name = "old";
  job.row.unreadable = UnreadableSpec{"{\"version\": 0}", "version: expected 1"};
  return job;
}

WorkerHello Hello(const std::string& name) {
  WorkerHello hello;
  hello.worker = store::SampleWorker(name);
  hello.device_free = true;
  return hello;
}

TEST(UnreadableJob, IsShownAndHoldsBackNobodyAndCanBeCancelled) {
  StoredState stored;
  stored.next_job = 2;
  stored.jobs.push_back(Unreadable(1));
  State state = Restore({}, stored, kNow);
  EXPECT_EQ(Describe(Step(state, Hello("a/0"), kNow)), "a/0 <- welcome\n");
  const std::string reason = Reason(state, *FindJob(state, {1}), kNow);
  EXPECT_NE(reason.find("version: expected 1"), std::string::npos) << reason;
  EXPECT_NE(reason.find("trainctl cancel j1"), std::string::npos) << reason;
  Step(state, CancelRequested{{1}}, kNow);
  EXPECT_EQ(FindJob(state, {1}), nullptr);
}

TEST(UnreadableJob, ThatRunsIsSupervisedToItsEnd) {
  StoredState stored;
  stored.next_job = 2;
  stored.workers = {store::SampleWorker("a/0")};
  UnfinishedJob job = Unreadable(1);
  job.status.state = job::JobState::kRunning;
  job.status.attempt = 1;
  job.attempt = AttemptRow{.job = {1}, .attempt = 1, .placed_at = 1, .micro_batch_size = 4};
  job.ranks.push_back(store::SampleRank({{1}, 1, 0}));
  job.ranks.front().proof = Proof::kNone;
  job.ranks.front().outcome.reset();
  job.row.spec.devices = 1;
  stored.jobs.push_back(job);
  State state = Restore({}, stored, kNow);
  WorkerHello hello = Hello("a/0");
  hello.held = {{{{1}, 1, 0}, true}};
  hello.device_free = false;
  Step(state, hello, kNow);
  Step(state,
       RankReported{"a/0", {{1}, 1, 0}, 1, job::RankOutcome{job::Outcome::kSucceeded, "", {}}},
       kNow);
  Step(state, RankReported{"a/0", {{1}, 1, 0}, 2, job::RankExit{.exit_code = 0}}, kNow);
  Step(state, DeviceStateChanged{"a/0", true, ""}, kNow);
  EXPECT_EQ(FindJob(state, {1}), nullptr);
}

}  // namespace
}  // namespace trainctl::core
