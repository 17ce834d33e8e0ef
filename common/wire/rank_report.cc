#include "common/wire/rank_report.h"

#include <utility>

#include "common/wire/metric_point.h"
#include "common/wire/oom_detail.h"
#include "common/wire/rank_key.h"
#include "proto/trainctl.pb.h"

namespace trainctl::wire {
namespace {

base::Error Invalid(const std::string& text) { return {base::Code::kInvalid, text}; }

base::Error Within(const std::string& field, const base::Error& error) {
  return {error.code, field + "." + error.message};
}

base::Error NotNegative(const std::string& field, int64_t value) {
  return Invalid(field + ": " + std::to_string(value) + ": expected a number from 0");
}

void Write(const job::RankStarted& body, v1::RankReport* report) {
  v1::RankStarted* message = report->mutable_started();
  message->set_pid(body.pid);
  message->set_commit(body.commit);
  message->set_libtorch(body.libtorch);
  message->set_nccl(body.nccl);
  message->set_driver(body.driver);
  message->set_device_name(body.device_name);
}

void Write(const job::RankPhase& body, v1::RankReport* report) {
  v1::RankPhase* message = report->mutable_phase();
  message->set_phase(std::string(job::Name(body.phase)));
  message->set_done(body.done);
  message->set_total(body.total);
}

void Write(const job::RankRendezvous& body, v1::RankReport* report) {
  report->set_rendezvous(body.blob);
}

void Write(const job::RankProgress& body, v1::RankReport* report) {
  v1::RankProgress* message = report->mutable_progress();
  message->set_step(body.step);
  message->set_first_step(body.first_step);
  message->set_steps(body.steps);
  message->set_stage(body.stage);
  if (body.loss) message->set_loss(*body.loss);
  message->set_peak_allocated_bytes(body.peak_allocated_bytes);
}

void Write(const job::RankMetrics& body, v1::RankReport* report) {
  v1::MetricsBody* message = report->mutable_metrics();
  message->mutable_points()->Reserve(static_cast<int>(body.points.size()));
  for (const job::MetricPoint& point : body.points) *message->add_points() = ToWire(point);
}

void Write(const job::RankSaved& body, v1::RankReport* report) {
  report->mutable_saved()->set_kind(body.kind);
  report->mutable_saved()->set_path(body.path);
  report->mutable_saved()->set_bytes(body.bytes);
  report->mutable_saved()->set_record(body.record);
}

void Write(const job::RankNotice& body, v1::RankReport* report) { report->set_notice(body.text); }

void Write(const job::RankOutcome& body, v1::RankReport* report) {
  v1::RankOutcome* message = report->mutable_outcome();
  message->set_outcome(std::string(job::Name(body.outcome)));
  message->set_message(body.message);
  if (body.oom) *message->mutable_oom() = ToWire(*body.oom);
}

void Write(const job::RankExit& body, v1::RankReport* report) {
  v1::RankExit* message = report->mutable_exit();
  if (body.exit_code) message->set_exit_code(*body.exit_code);
  if (body.signal) message->set_signal(*body.signal);
  message->set_oom_killed(body.oom_killed);
  message->set_last_log_lines(body.last_log_lines);
}

void Write(const job::LaunchFailure& body, v1::RankReport* report) {
  report->mutable_launch_failure()->set_message(body.message);
}

base::Result<job::ReportBody> Read(const v1::RankStarted& message) {
  if (message.pid() < 0) return NotNegative("started.pid", message.pid());
  return job::ReportBody(job::RankStarted{message.pid(), message.commit(), message.libtorch(),
                                          message.nccl(), message.driver(), message.device_name()});
}

base::Result<job::ReportBody> Read(const v1::RankPhase& message) {
  const auto phase = job::ParseRunPhase(message.phase());
  if (!phase)
    return Invalid("phase.phase: '" + message.phase().substr(0, 64) +
                   "': expected a phase such as training");
  if (message.done() < 0) return NotNegative("phase.done", message.done());
  if (message.total() < 0) return NotNegative("phase.total", message.total());
  return job::ReportBody(job::RankPhase{*phase, message.done(), message.total()});
}

base::Result<job::ReportBody> Read(const v1::RankProgress& message) {
  if (message.step() < 0) return NotNegative("progress.step", message.step());
  if (message.first_step() < 0) return NotNegative("progress.first_step", message.first_step());
  if (message.steps() < 0) return NotNegative("progress.steps", message.steps());
  if (message.peak_allocated_bytes() < 0)
    return NotNegative("progress.peak_allocated_bytes", message.peak_allocated_bytes());
  job::RankProgress body;
  body.step = message.step();
  body.first_step = message.first_step();
  body.steps = message.steps();
  body.stage = message.stage();
  if (message.has_loss()) body.loss = message.loss();
  body.peak_allocated_bytes = message.peak_allocated_bytes();
  return job::ReportBody(std::move(body));
}

base::Result<job::ReportBody> Read(const v1::MetricsBody& message) {
  job::RankMetrics body;
  body.points.reserve(message.points_size());
  for (int i = 0; i < message.points_size(); ++i) {
    auto point = FromWire(message.points(i));
    if (!point) return Within("metrics.points[" + std::to_string(i) + "]", point.error());
    body.points.push_back(std::move(*point));
  }
  return job::ReportBody(std::move(body));
}

base::Result<job::ReportBody> Read(const v1::RankOutcome& message) {
  const auto outcome = job::ParseOutcome(message.outcome());
  if (!outcome)
    return Invalid("outcome.outcome: '" + message.outcome().substr(0, 64) +
                   "': expected an outcome such as SUCCEEDED");
  job::RankOutcome body{*outcome, message.message(), std::nullopt};
  if (message.has_oom()) {
    auto oom = FromWire(message.oom());
    if (!oom) return Within("outcome", oom.error());
    body.oom = std::move(*oom);
  }
  return job::ReportBody(std::move(body));
}

base::Result<job::ReportBody> Read(const v1::RankExit& message) {
  if (message.has_exit_code() && message.has_signal())
    return Invalid("exit: expected one of exit_code and signal, not both");
  job::RankExit body;
  if (message.has_exit_code()) body.exit_code = message.exit_code();
  if (message.has_signal()) body.signal = message.signal();
  body.oom_killed = message.oom_killed();
  body.last_log_lines = message.last_log_lines();
  return job::ReportBody(std::move(body));
}

base::Result<job::ReportBody> ReadBody(const v1::RankReport& message) {
  switch (message.body_case()) {
    case v1::RankReport::kStarted: return Read(message.started());
    case v1::RankReport::kPhase: return Read(message.phase());
    case v1::RankReport::kRendezvous:
      return job::ReportBody(job::RankRendezvous{message.rendezvous()});
    case v1::RankReport::kProgress: return Read(message.progress());
    case v1::RankReport::kMetrics: return Read(message.metrics());
    case v1::RankReport::kNotice: return job::ReportBody(job::RankNotice{message.notice()});
    case v1::RankReport::kSaved:
      return job::ReportBody(job::RankSaved{message.saved().kind(), message.saved().path(),
                                            message.saved().bytes(), message.saved().record()});
    case v1::RankReport::kOutcome: return Read(message.outcome());
    case v1::RankReport::kExit: return Read(message.exit());
    case v1::RankReport::kLaunchFailure:
      return job::ReportBody(job::LaunchFailure{message.launch_failure().message()});
    case v1::RankReport::BODY_NOT_SET: break;
  }
  return Invalid("body: none that this version knows");
}

}  // namespace

v1::RankReport ToWire(const job::RankReport& report) {
  v1::RankReport message;
  WriteRankKey(report.key, &message);
  message.set_sequence(report.sequence);
  std::visit([&message](const auto& body) { Write(body, &message); }, report.body);
  return message;
}

base::Result<job::RankReport> FromWire(const v1::RankReport& message) {
  const auto key = ReadRankKey(message.job(), message.attempt(), message.rank());
  if (!key) return key.error();
  if (message.sequence() < 1)
    return Invalid("sequence: " + std::to_string(message.sequence()) +
                   ": expected a number from 1");
  auto body = ReadBody(message);
  if (!body) return body.error();
  return job::RankReport{*key, message.sequence(), std::move(*body)};
}

}  // namespace trainctl::wire
