#include "tests/server/simulation/sim_worker.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "common/estimate/memory_estimate.h"
#include "tests/server/describe.h"

namespace trainctl::core {

SimWorker::SimWorker(std::string name, std::string host, std::string model, int64_t index)
    : name_(std::move(name)), host_(std::move(host)), model_(std::move(model)), index_(index) {}

void SimWorker::Receive(const coordinator::WorkerCommand& command, Random& random) {
  std::visit([&](const auto& value) { Obey(value, random); }, command);
}

void SimWorker::Obey(const coordinator::WelcomeWorker& welcome, Random&) {
  welcome_ = true;
  for (const AckRow& ack : welcome.acks) {
    const auto found = ranks_.find(ack.key);
    if (found != ranks_.end()) found->second.acknowledged = ack.sequence;
  }
  for (const auto& [key, rank] : ranks_) {
    for (const RankReported& report : rank.reports) {
      if (report.sequence > rank.acknowledged) Say(report);
    }
  }
  for (const coordinator::LogStored& stored : welcome.logs) TellLog(stored);
}

void SimWorker::Obey(const StartRank& start, Random& random) {
  if (ranks_.contains(start.key)) return;
  SimRank* running = Running();
  ASSERT_EQ(running, nullptr) << name_ << " is to start " << Short(start.key) << " while "
                              << Short(running->key) << " runs";
  ASSERT_FALSE(dirty_) << name_ << " is to start " << Short(start.key)
                       << " on a device that is not free";
  SimRank& rank = ranks_[start.key];
  rank.key = start.key;
  rank.world_size = start.plan.world_size;
  rank.trial = start.plan.trial;
  rank.lease = start.plan.job.resources.lease.value_or("");
  rank.deadline = start.deadline;
  if (Chance(random, 3)) {
    rank.running = false;
    return Report(rank, job::LaunchFailure{"no such path", Chance(random, 50)});
  }
  Report(rank, job::RankStarted{1});
}

void SimWorker::Obey(const StopRank& stop, Random& random) {
  const auto found = ranks_.find(stop.key);
  if (found == ranks_.end() || !found->second.running) return;
  EndOrHang(found->second, own_time_s() + stop.grace_us / 1'000'000 + 1, random);
}

void SimWorker::Obey(const KeepDeadline& keep, Random&) {
  const auto found = ranks_.find(keep.key);
  if (found != ranks_.end() && !found->second.is_past) found->second.deadline = keep.deadline;
}

void SimWorker::Second(Random& random) {
  own_time_us_ += 1'000'000;
  SimRank* rank = Running();
  if (rank == nullptr || !rank->deadline || own_time_us_ < rank->deadline->in_us) return;
  const bool was_past = std::exchange(rank->is_past, true);
  const bool grace_is_over = own_time_us_ >= rank->deadline->in_us + rank->deadline->grace_us;
  if (grace_is_over) return End(*rank, {.signal = 9}, random);
  if (!was_past) EndOrHang(*rank, rank->kill_at_s, random);
}

void SimWorker::EndOrHang(SimRank& rank, int64_t kill_at_s, Random& random) {
  if (rank.hangs || Chance(random, 20)) {
    rank.kill_at_s = kill_at_s;
  } else if (Chance(random, 50)) {
    Report(rank, job::RankOutcome{job::Outcome::kCancelled, "stopped", std::nullopt});
    End(rank, {.exit_code = 0}, random);
  } else {
    End(rank, {.signal = 15}, random);
  }
}

void SimWorker::Obey(const coordinator::AskInspect& ask, Random& random) {
  InspectionTold told{ask.request_id, job::Inspection{.rows = 1000}};
  if (Chance(random, 10)) told.inspection = base::Error{base::Code::kInvalid, "no such path"};
  if (Chance(random, 20)) told.inspection = base::Error{base::Code::kUnavailable, "busy"};
  Say(told);
}

void SimWorker::Obey(const coordinator::AskOutputs& ask, Random& random) {
  Say(RemovalTold{ask.request_id, Chance(random, 20) ? "the folder is another job's" : ""});
}

void SimWorker::Obey(const ReleaseRank& release, Random&) {
  const auto found = ranks_.find(release.key);
  if (found == ranks_.end()) return;
  ASSERT_FALSE(found->second.running) << Short(release.key) << " is released while it runs";
  ranks_.erase(found);
}

void SimWorker::Obey(const AckReport& ack, Random&) {
  const auto found = ranks_.find(ack.key);
  if (found == ranks_.end()) return;
  found->second.acknowledged = std::max(found->second.acknowledged, ack.sequence);
}

void SimWorker::Obey(const coordinator::LogStored& stored, Random&) {
  if (stored.again) TellLog(stored);
}

// From there on.
void SimWorker::TellLog(const coordinator::LogStored& stored) {
  const auto found = ranks_.find(stored.key);
  if (found == ranks_.end()) return;
  const std::string& log = found->second.log;
  if (static_cast<size_t>(stored.offset) < log.size())
    Say(LogTold{stored.key, stored.offset, log.substr(static_cast<size_t>(stored.offset))});
}

void SimWorker::Write(SimRank& rank, const std::string& line) {
  if (welcome_) Say(LogTold{rank.key, std::ssize(rank.log), line});
  rank.log += line;
}

void SimWorker::Say(WorkerWord word) {
  if (stream_) stream_->to_coordinator.push_back(std::move(word));
}

void SimWorker::SayItsWord() {
  Say(DeviceStateChanged{name_, !dirty_, dirty_ ? "memory in use" : ""});
}

void SimWorker::Report(SimRank& rank, job::ReportBody body) {
  rank.reports.push_back({name_, rank.key, ++rank.sequence, std::move(body)});
  if (welcome_) Say(rank.reports.back());
}

void SimWorker::End(SimRank& rank, const job::RankExit& exit, Random& random) {
  rank.running = false;
  job::RankExit told = exit;
  if (rank.is_past) {
    told.deadline = rank.deadline->outcome;
    told.deadline_message = rank.deadline->message;
  }
  if (Chance(random, 30)) told.age_us = static_cast<int64_t>(random() % 1'000'000'000) - 1'000'000;
  Report(rank, told);
  dirty_ = Chance(random, 10);
  SayItsWord();
}

void SimWorker::Kill(SimRank& rank, Random& random) { End(rank, {.signal = 9}, random); }

void SimWorker::Reboot() {
  Disconnect();
  ++boot_;
  if (process_ != 0) BeginAnew();
  dirty_ = false;
  for (auto& [key, rank] : ranks_) {
    if (rank.running)
      Report(rank, job::RankExit{});  // its shim went down with it: a record without an end
    rank.running = false;
  }
}

const SimRank* SimWorker::Running() const {
  for (const auto& [key, rank] : ranks_) {
    if (rank.running) return &rank;
  }
  return nullptr;
}

void SimWorker::Advance(bool peers_alive, bool with_faults, Random& random) {
  if (dirty_ && connected() && Chance(random, 20)) {
    dirty_ = false;
    SayItsWord();
  }
  SimRank* rank = Running();
  if (rank == nullptr && connected() && Chance(random, 10)) SayItsWord();
  if (rank == nullptr) return;
  if (rank->kill_at_s != 0 && own_time_s() >= rank->kill_at_s)
    return End(*rank, {.signal = 9}, random);
  if (rank->hangs) return;
  if (with_faults && Chance(random, 2)) {
    rank->hangs = true;
    return;
  }
  if (rank->trial) return TryMicroBatch(*rank, random);
  if (rank->phase < 3) {
    ++rank->phase;
    if (rank->phase == 1) Report(*rank, job::RankPhase{job::RunPhase::kLoading, 1, 2});
    if (rank->phase == 2 && rank->key.rank == 0) Report(*rank, job::RankRendezvous{"blob"});
    if (rank->phase == 3) Report(*rank, job::RankPhase{job::RunPhase::kTraining});
  } else if (peers_alive) {
    DoStep(*rank, random);
  } else if (Chance(random, 50)) {
    Report(*rank, job::RankOutcome{job::Outcome::kNcclError, "a peer is gone", std::nullopt});
    End(*rank, {.exit_code = 1}, random);
  } else {
    rank->hangs = true;
  }
}

void SimWorker::TryMicroBatch(SimRank& rank, Random& random) {
  rank.trial = false;
  Report(rank, job::RankPhase{job::RunPhase::kTrial});
  if (!Chance(random, 40)) return;
  Report(rank, job::RankOutcome{job::Outcome::kOomGpu, "in its trial", std::nullopt});
  End(rank, {.exit_code = 1}, random);
}

void SimWorker::DoStep(SimRank& rank, Random& random) {
  if (Chance(random, 4)) {
    const job::Outcome outcome =
        Chance(random, 50) ? job::Outcome::kOomGpu : job::Outcome::kNcclError;
    Report(rank, job::RankOutcome{outcome, "of its own", std::nullopt});
    return End(rank, {.exit_code = 1}, random);
  }
  ++rank.step;
  Write(rank, "step " + std::to_string(rank.step) + "\n");
  Report(rank, job::RankProgress{.step = rank.step, .steps = kSteps});
  Report(rank, job::RankMetrics{{{.name = "loss", .step = rank.points++}}});
  const bool is_slow = rank.key.rank == 1 && rank.key.job.value % 3 > 0;
  Report(rank, job::RankMetrics{{{.name = "work_seconds",
                                  .step = rank.step,
                                  .rank = rank.key.rank,
                                  .value = is_slow ? 1.5 : 1.0}}});
  if (rank.step < kSteps) return;
  rank.succeeded = true;
  Report(rank, job::RankOutcome{job::Outcome::kSucceeded, "", std::nullopt});
  End(rank, {.exit_code = 0}, random);
}

WorkerHello SimWorker::Hello() const {
  WorkerHello hello;
  hello.worker.name = name_;
  hello.worker.host = host_;
  hello.worker.boot_id = "boot-" + std::to_string(boot_);
  hello.worker.device.index = index_;
  hello.worker.device.name = model_;
  hello.worker.device.labels["rack"] = "r" + std::to_string(index_ % 2);
  if (process_ != 0) hello.incarnation = "process-" + std::to_string(process_);
  hello.stream = streams_;
  hello.device_free = !dirty_;
  for (const auto& [key, rank] : ranks_) {
    hello.held.push_back({key, rank.running});
    if (rank.running) hello.device_free = false;
  }
  return hello;
}

void SimWorker::Connect(std::shared_ptr<SimStream> stream) {
  stream_ = std::move(stream);
  ++streams_;
  Say(Hello());
}

void SimWorker::Disconnect() {
  if (stream_) {
    stream_->is_cut = true;
    stream_->to_worker.clear();
  }
  stream_.reset();
  welcome_ = false;
}

}  // namespace trainctl::core
