// The coordinator is away for an hour: training goes on. What was said meanwhile is delivered once
// and in order, within the bounds of the rank's files. With both real sides: spool, log and
// relay of the worker's host; wire, scheduler and log files of the coordinator's. Time is a fake
// clock's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/rank/rank_json.h"
#include "common/wire/rank_report.h"
#include "proto/trainctl.pb.h"
#include "server/coordinator/log_files.h"
#include "server/core/step.h"
#include "tests/job/valid_job.h"
#include "tests/shim/temp_folder.h"
#include "worker/agent/relay.h"
#include "worker/shim/log_file.h"

namespace trainctl {
namespace {

constexpr job::RankKey kRank{base::JobId{1}, 1, 0};
constexpr int64_t kHour = 3600;  // in seconds, and in steps
constexpr int64_t kCheckpointEvery = 300;

std::string Checkpoint(int64_t step) { return "/out/step-" + std::to_string(step); }
std::string LogLine(int64_t step) {
  return "step " + std::to_string(step) + ": loss 2.25, 41,000 tokens/s, 12.5 GiB\n";
}

// The coordinator's side, with a database that remembers what each Step persists.
class Site {
 public:
  Site(std::string folder, const base::Clock& clock) : logs_(std::move(folder)), clock_(clock) {
    Join();
    job::JobSpec spec = job::SmallestJob();
    Feed(core::JobsSubmitted{"r", "", {{spec, job::Inspection(), std::nullopt, false}}});
    events.clear();
  }

  // The worker comes (back): what of its rank is stored.
  int64_t Join() {
    core::WorkerHello hello{.device_free = !joined_};
    hello.worker.host = "a";
    hello.worker.name = "a/0";
    if (std::exchange(joined_, true)) hello.held = {{kRank, true}};
    Feed(hello);
    return acknowledged_;
  }
  void Lose() { Feed(core::WorkerStreamLost{"a/0", 0}); }

  // One message of the worker's.
  void Take(const v1::WorkerMessage& message) {
    if (message.has_log()) {
      const v1::LogReport& log = message.log();
      ASSERT_TRUE(logs_.Append(kRank, log.offset(), log.data(), log.after()));
      return;
    }
    auto report = wire::FromWire(message.report());
    ASSERT_TRUE(report);
    const bool may_be_lost = std::holds_alternative<job::RankProgress>(report->body) ||
                             std::holds_alternative<job::RankMetrics>(report->body);
    const int64_t stored = stored_;
    Feed(core::RankReported{"a/0", report->key, report->sequence, std::move(report->body),
                            report->age_us});
    if (stored_ == stored) return;
    in_order = in_order && stored_ == stored + 1;
    losable += may_be_lost;
  }

  int64_t acknowledged() const { return acknowledged_; }
  int64_t log_end() { return *logs_.End(kRank); }
  std::string Log() {
    std::string text;
    while (true) {
      const auto piece = logs_.Read(kRank, static_cast<int64_t>(text.size()), 1 << 20);
      if (!piece || piece->data.empty()) return text;
      text += piece->data;
    }
  }

  std::vector<int64_t> steps;  // of the losses that it has stored, as they came
  std::vector<std::string> checkpoints;
  std::vector<base::WallMicros> saved_at;
  std::vector<std::string> events;
  int64_t losable = 0;  // reports of progress and metrics that had their effect
  bool in_order = true;
  bool ended = false;

 private:
  void Feed(const core::Event& event) {
    const core::Actions actions = core::Step(state_, event, {clock_.Wall(), clock_.Steady()});
    for (const core::Persist& row : actions.persist) Keep(row);
    for (const core::Effect& effect : actions.effects) {
      if (const auto* ack = std::get_if<core::AckReport>(&effect)) acknowledged_ = ack->sequence;
      if (const auto* welcome = std::get_if<core::Welcome>(&effect)) {
        if (!welcome->acks.empty()) acknowledged_ = welcome->acks.front().sequence;
      }
    }
  }

  void Keep(const core::Persist& row) {
    if (const auto* ack = std::get_if<core::AckRow>(&row)) stored_ = ack->sequence;
    if (const auto* event = std::get_if<core::EventRow>(&row)) events.push_back(event->text);
    if (const auto* rank = std::get_if<core::RankRow>(&row))
      ended = rank->proof == core::Proof::kExited;
    if (const auto* saved = std::get_if<core::ArtefactRow>(&row)) {
      checkpoints.push_back(saved->saved.path);
      saved_at.push_back(saved->at);
    }
    const auto* metrics = std::get_if<core::MetricRows>(&row);
    if (metrics == nullptr) return;
    for (const job::MetricPoint& point : metrics->points) {
      if (point.name == "loss") steps.push_back(point.step);
    }
  }

  core::State state_;
  coordinator::LogFiles logs_;
  const base::Clock& clock_;
  int64_t stored_ = 0;
  int64_t acknowledged_ = 0;
  bool joined_ = false;
};

struct Limits {
  shim::SpoolLimits spool;
  shim::LogLimits log;
};

// A rank that makes a step a second, and its worker.
class Host {
 public:
  Host(const Limits& limits, Site& site, base::FakeClock& clock)
      : spool_(folder_.path(), limits.spool),
        log_(folder_.path(), limits.log),
        site_(site),
        clock_(clock) {
    relay_->Resume(0, 0);
  }

  void Train(int64_t seconds) {
    for (const int64_t end = step_ + seconds; step_ < end; ++step_) {
      Say(job::RankProgress{.step = step_, .steps = 10 * kHour, .loss = 2.25});
      job::RankMetrics metrics;
      for (const char* name : {"loss", "lr", "step_seconds", "tokens_per_second", "grad_norm"})
        metrics.points.push_back(
            {.name = name, .step = step_, .value = 2.25, .time = clock_.Wall()});
      Say(metrics);
      losable_said += 2;
      log_.Append(LogLine(step_));
      log_said += LogLine(step_);
      if (step_ % kCheckpointEvery == 0) {
        saved_at.push_back(clock_.Wall());
        Say(job::RankSaved{"checkpoint", Checkpoint(step_), 4096});
      }
      clock_.Advance(1'000'000);
      most_spool_bytes = std::max(most_spool_bytes, BytesOf("spool.jsonl"));
      most_log_bytes = std::max(most_log_bytes, BytesOf("rank.log"));
    }
  }
  void End() {
    Say(job::RankOutcome{job::Outcome::kSucceeded, "", {}});
    spool_.Finish(clock_.Wall());
    log_.Finish();
    relay_->SetEnd(job::RankExit{.exit_code = 0}, clock_.Wall());
  }

  // At most so many messages come through; what is behind them is lost on the way.
  void Send(int64_t most, bool answers_come) {
    for (int64_t sent = 0; sent < most; ++sent) {
      const auto message = relay_->Next(clock_.Wall());
      if (!message) return;
      site_.Take(*message);
      if (answers_come) TakeAnswers();
    }
    while (relay_->Next(clock_.Wall())) {
    }
  }
  void SendAll() { Send(std::numeric_limits<int64_t>::max(), true); }

  // A restarted worker has only what the rank's folder says.
  void Return(bool worker_restarted) {
    if (worker_restarted) relay_.emplace(kRank, folder_.path());
    const int64_t stored = site_.Join();
    relay_->Resume(stored, site_.log_end());
  }

  int64_t step() const { return step_; }
  int64_t BytesOf(const char* prefix) const {
    int64_t bytes = 0;
    for (const shim::Segment& segment : shim::ListSegments(folder_.path(), prefix))
      bytes += segment.bytes;
    return bytes;
  }

  std::string log_said;
  int64_t losable_said = 0;
  std::vector<base::WallMicros> saved_at;
  int64_t most_spool_bytes = 0;
  int64_t most_log_bytes = 0;

 private:
  void Say(const job::RankMessage& message) { spool_.Append(job::ToLine(message), clock_.Wall()); }
  void TakeAnswers() {
    relay_->Acknowledge(site_.acknowledged());
    spool_.Acknowledge(site_.acknowledged());
    relay_->AcknowledgeLog(site_.log_end());
  }

  tests::TempFolder folder_;
  shim::Spool spool_;
  shim::LogFile log_;
  std::optional<agent::Relay> relay_{std::in_place, kRank, folder_.path()};
  Site& site_;
  base::FakeClock& clock_;
  int64_t step_ = 0;
};

class AwayCoordinator : public testing::Test {
 protected:
  // A while together; answers, then messages are lost; an hour apart, and the way back is no
  // better.
  void LiveThroughAnHour(Host& host, bool worker_restarted) {
    host.Train(20);
    host.SendAll();
    host.Train(10);
    host.Send(8, /*answers_come=*/false);
    site_.Lose();
    host.Train(kHour);
    host.Return(worker_restarted);
    host.Send(1000, /*answers_come=*/true);
    site_.Lose();
    host.Train(10);
    host.Return(worker_restarted);
    host.Send(100, /*answers_come=*/false);
    site_.Lose();
    host.Return(worker_restarted);
    host.SendAll();
    host.Train(10);
    host.End();
    host.SendAll();
  }

  // What must not be lost, whatever the bounds are.
  void ExpectTheRest(const Host& host) {
    EXPECT_TRUE(site_.in_order);
    EXPECT_TRUE(site_.ended);
    std::vector<std::string> checkpoints;
    for (int64_t step = 0; step < host.step(); step += kCheckpointEvery)
      checkpoints.push_back(Checkpoint(step));
    EXPECT_EQ(site_.checkpoints, checkpoints);
    EXPECT_EQ(site_.saved_at, host.saved_at) << "at their own time, not when they came";
  }

  // Messages that the job's history says are lost.
  int64_t Lost() const {
    int64_t lost = 0;
    for (const std::string& event : site_.events) {
      if (event.find("messages of progress and metrics are lost") == std::string::npos) continue;
      lost += std::stoll(event.substr(event.find(": ") + 2));
    }
    return lost;
  }

  tests::TempFolder folder_;
  base::FakeClock clock_;
  Site site_{folder_.path(), clock_};
};

class AwayCoordinatorAndWorker : public AwayCoordinator,
                                 public testing::WithParamInterface<bool> {};

TEST_P(AwayCoordinatorAndWorker, AnHourOfStepsIsDeliveredOnceAndInOrder) {
  const Limits limits;
  Host host(limits, site_, clock_);
  LiveThroughAnHour(host, GetParam());
  ExpectTheRest(host);
  ASSERT_GT(host.step(), kHour);
  ASSERT_EQ(site_.steps.size(), static_cast<size_t>(host.step()));
  for (int64_t step = 0; step < host.step(); ++step)
    ASSERT_EQ(site_.steps[static_cast<size_t>(step)], step);
  EXPECT_EQ(site_.losable, host.losable_said);
  EXPECT_EQ(Lost(), 0);
  EXPECT_EQ(site_.Log(), host.log_said);
  EXPECT_LE(host.most_spool_bytes, limits.spool.total_bytes);
  EXPECT_LE(host.BytesOf("spool.jsonl"), limits.spool.segment_bytes + (64 << 10))
      << "what is stored there is not kept here";
}

TEST_P(AwayCoordinatorAndWorker, BeyondTheBoundWhatIsLostIsCountedAndSaid) {
  const Limits limits{
      .spool = {.total_bytes = 256 << 10, .segment_bytes = 32 << 10},
      .log = {.first_bytes = 8 << 10, .segment_bytes = 16 << 10, .newest_segments = 3}};
  Host host(limits, site_, clock_);
  LiveThroughAnHour(host, GetParam());
  ExpectTheRest(host);
  EXPECT_LT(site_.steps.size(), static_cast<size_t>(host.step()));
  EXPECT_EQ(std::ranges::adjacent_find(site_.steps, std::greater_equal<>()), site_.steps.end())
      << "each once, in order";
  EXPECT_EQ(site_.steps.front(), 0);
  EXPECT_EQ(site_.steps.back(), host.step() - 1) << "there is room again";
  EXPECT_GT(Lost(), 0);
  EXPECT_EQ(site_.losable + Lost(), host.losable_said);
  EXPECT_LE(host.most_spool_bytes, limits.spool.total_bytes + (8 << 10))
      << "a few checkpoints lie beyond it";
  EXPECT_LE(host.most_log_bytes, (8 << 10) + 3 * (16 << 10));
  const std::string log = site_.Log();
  EXPECT_EQ(log.size(), host.log_said.size()) << "every byte has its place";
  EXPECT_TRUE(log.starts_with(LogLine(0) + LogLine(1)));
  EXPECT_TRUE(log.ends_with(LogLine(host.step() - 2) + LogLine(host.step() - 1)));
  EXPECT_THAT(log, testing::HasSubstr("bytes of this log are missing here"));
}

INSTANTIATE_TEST_SUITE_P(, AwayCoordinatorAndWorker, testing::Bool(), [](const auto& of) {
  return of.param ? "TheWorkerRestarts" : "TheWorkerStays";
});

}  // namespace
}  // namespace trainctl
