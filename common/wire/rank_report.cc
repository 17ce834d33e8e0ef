#include "common/wire/rank_report.h"

#include <utility>

#include "common/base/utf8.h"
#include "common/rank/rank_json.h"
#include "common/wire/deadline.h"
#include "common/wire/rank_key.h"
#include "common/wire/texts.h"
#include "proto/trainctl.pb.h"

namespace trainctl::wire {
namespace {

// A rank's own message.
template <class Message>
void Write(const Message& body, v1::RankReport* report) {
  report->set_line(job::ToLine(job::RankMessage(body)));
}

void Write(const job::UnreadableMessage&, v1::RankReport* report) { report->set_line(""); }

void Write(const job::RankExit& body, v1::RankReport* report) {
  v1::RankExit* message = report->mutable_exit();
  if (body.exit_code) message->set_exit_code(*body.exit_code);
  if (body.signal) message->set_signal(*body.signal);
  message->set_oom_killed(body.oom_killed);
  message->set_last_log_lines(body.last_log_lines);
  message->set_age_us(body.age_us);
  if (!body.deadline) return;
  message->set_deadline(std::string(job::Name(*body.deadline)));
  message->set_deadline_message(body.deadline_message);
}

void Write(const job::LaunchFailure& body, v1::RankReport* report) {
  report->mutable_launch_failure()->set_message(body.message);
  report->mutable_launch_failure()->set_worker_fault(body.worker_fault);
}

job::ReportBody Read(const std::string& line) {
  base::Result<job::RankMessage> message = job::RankMessageFromLine(line);
  if (message) return job::ToBody(std::move(*message));
  return job::UnreadableMessage{base::Excerpt(message.error().message, kMaxTextBytes)};
}

job::ReportBody Read(const v1::RankExit& message) {
  job::RankExit body;
  if (message.has_exit_code()) body.exit_code = message.exit_code();
  if (message.has_signal()) body.signal = message.signal();
  body.oom_killed = message.oom_killed();
  body.last_log_lines = message.last_log_lines();
  body.age_us = message.age_us();
  body.deadline = ReadDeadlineOutcome(message.deadline());
  if (body.deadline)
    body.deadline_message = base::Excerpt(message.deadline_message(), kMaxTextBytes);
  return body;
}

job::ReportBody ReadBody(const v1::RankReport& message) {
  switch (message.body_case()) {
    case v1::RankReport::kLine: return Read(message.line());
    case v1::RankReport::kExit: return Read(message.exit());
    case v1::RankReport::kLaunchFailure:
      return job::LaunchFailure{message.launch_failure().message(),
                                message.launch_failure().worker_fault()};
    case v1::RankReport::BODY_NOT_SET: break;
  }
  return job::UnreadableMessage{"no body that this version knows"};
}

}  // namespace

v1::RankReport ToWire(const job::RankKey& key, int64_t sequence, std::string line) {
  v1::RankReport message;
  WriteRankKey(key, &message);
  message.set_sequence(sequence);
  message.set_line(std::move(line));
  return message;
}

v1::RankReport ToWire(const job::RankReport& report) {
  v1::RankReport message;
  WriteRankKey(report.key, &message);
  message.set_sequence(report.sequence);
  message.set_age_us(report.age_us);
  std::visit([&message](const auto& body) { Write(body, &message); }, report.body);
  return message;
}

base::Result<job::RankReport> FromWire(const v1::RankReport& message) {
  const auto key = ReadRankKey(message.job(), message.attempt(), message.rank());
  if (!key) return key.error();
  if (message.sequence() < 1)
    return base::Error{base::Code::kInvalid, "sequence: " + std::to_string(message.sequence()) +
                                                 ": expected a number from 1"};
  return job::RankReport{*key, message.sequence(), ReadBody(message), message.age_us()};
}

}  // namespace trainctl::wire
