// A worker that hears nothing of its coordinator ends what its lease ends. The coordinator takes
// that for what it is. The scheduler is real, and so are the worker's deadline and relay.
// What they tell each other goes over the wire's messages. The clocks are fakes, and differ.
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "common/wire/deadline.h"
#include "common/wire/rank_report.h"
#include "proto/trainctl.pb.h"
#include "server/core/step.h"
#include "tests/job/valid_job.h"
#include "tests/shim/temp_folder.h"
#include "worker/agent/kept_deadline.h"

namespace trainctl {
namespace {

constexpr job::RankKey kLeasedRank{base::JobId{1}, 1, 0};
constexpr int64_t kSecond = 1'000'000;
constexpr int64_t kHourUs = 3600 * kSecond;

class KeptLease : public testing::Test {
 protected:
  void SetUp() override {
    host_clock_.Advance(77 * kHourUs);
    Hello({});
    Feed(core::LeaseMade{{.name = "lab",
                          .user = "ann",
                          .workers = {"a/0"},
                          .start = clock_.Wall(),
                          .end = clock_.Wall() + kHourUs}});
    job::JobSpec spec = job::SmallestJob();
    spec.resources.lease = "lab";
    spec.resources.step_timeout_seconds = 86'400;  // nobody makes steps here
    Feed(core::JobsSubmitted{"r", "", {{spec, job::Inspection(), std::nullopt, false}}});
  }

  void Hello(const std::vector<core::HeldRank>& held) {
    core::WorkerHello hello{.held = held, .device_free = held.empty()};
    hello.worker.host = "a";
    hello.worker.name = "a/0";
    Feed(hello);
  }

  // What it tells the worker of the deadline comes there.
  void Feed(const core::Event& event) {
    const core::Actions actions = core::Step(state_, event, {clock_.Wall(), clock_.Steady()});
    for (const core::Effect& effect : actions.effects) {
      if (const auto* start = std::get_if<core::StartRank>(&effect)) Tell(start->deadline);
      if (const auto* keep = std::get_if<core::KeepDeadline>(&effect)) Tell(keep->deadline);
    }
    for (const core::Persist& row : actions.persist) {
      if (const auto* job = std::get_if<core::UpdateJob>(&row)) status_ = job->status;
    }
  }
  void Tell(const std::optional<job::Deadline>& deadline) {
    if (!deadline) return kept_.Set(std::nullopt);
    const auto read = wire::FromWire(wire::ToWire(*deadline));
    ASSERT_TRUE(read);
    kept_.Set(*read);
  }

  void Pass(int64_t us) {
    clock_.Advance(us);
    host_clock_.Advance(us);
  }

  // The rank's end, as its worker reports it.
  void Report(int64_t sequence, const job::ReportBody& body) {
    auto report = wire::FromWire(wire::ToWire(job::RankReport{kLeasedRank, sequence, body}));
    ASSERT_TRUE(report);
    Feed(core::RankReported{"a/0", report->key, report->sequence, std::move(report->body)});
  }
  void ReportEnd() {
    Report(1, job::RankOutcome{job::Outcome::kCancelled, "stopped", std::nullopt});
    const std::optional<job::Deadline> passed = kept_.Passed();
    ASSERT_TRUE(passed);
    Report(2,
           job::RankExit{
               .exit_code = 0, .deadline = passed->outcome, .deadline_message = passed->message});
    Feed(core::DeviceStateChanged{"a/0", true});
  }

  tests::TempFolder folder_;
  base::FakeClock clock_, host_clock_;
  agent::KeptDeadline kept_{folder_.path(), host_clock_};
  core::State state_;
  core::JobStatus status_;
};

TEST_F(KeptLease, EndsByItselfWhileTheCoordinatorIsAway) {
  Pass(kHourUs - 26 * kSecond);
  EXPECT_FALSE(kept_.Come());
  Pass(kSecond);
  const auto come = kept_.Come();
  ASSERT_TRUE(come);
  EXPECT_LT(come->grace_us, 25 * kSecond) << "it is gone before the lease's end";
  Pass(kHourUs);
  Hello({{kLeasedRank, false}});
  ReportEnd();
  ASSERT_TRUE(status_.end);
  EXPECT_EQ(status_.end->outcome, job::Outcome::kLeaseEnded) << status_.end->message;
  EXPECT_TRUE(status_.end->message.starts_with("lease 'lab' of ann ends")) << status_.end->message;
}

TEST_F(KeptLease, EndsByItselfWhileItIsCutOff) {
  Pass(kHourUs - 60 * kSecond);
  Feed(core::WorkerStreamLost{"a/0", 0});
  for (int64_t second = 0; second < 60; ++second) {
    Pass(kSecond);
    Feed(core::Tick{});
  }
  ASSERT_TRUE(kept_.Come());
  Hello({{kLeasedRank, false}});
  ReportEnd();
  ASSERT_TRUE(status_.end);
  EXPECT_EQ(status_.end->outcome, job::Outcome::kLeaseEnded) << status_.end->message;
}

TEST_F(KeptLease, AnExtendedLeaseReachesTheWorker) {
  Pass(kHourUs / 2);
  Feed(core::LeaseExtended{1, clock_.Wall() + kHourUs});
  Feed(core::Tick{});
  Pass(kHourUs / 2);
  EXPECT_FALSE(kept_.Come());
  Pass(kHourUs / 2);
  EXPECT_TRUE(kept_.Come());
}

TEST_F(KeptLease, OneThatWasExtendedUnheardLetsTheJobGoOn) {
  Feed(core::WorkerStreamLost{"a/0", 0});
  Feed(core::LeaseExtended{1, clock_.Wall() + 2 * kHourUs});
  Pass(kHourUs);
  ASSERT_TRUE(kept_.Come());
  Hello({{kLeasedRank, false}});
  ReportEnd();
  EXPECT_FALSE(status_.end);
  EXPECT_EQ(status_.attempt, 2);
}

}  // namespace
}  // namespace trainctl
