#include <algorithm>

#include "proto/trainctl.pb.h"
#include "server/core/reason_history.h"
#include "server/core/wait.h"
#include "server/views/encode_job.h"

namespace trainctl::views {
namespace {

constexpr int kMostHindrances = 64;

void EncodeHindrance(const core::Hindrance& hindrance, const core::Now& now,
                     v1::Hindrance* message) {
  message->set_worker(hindrance.worker->row.name);
  message->set_state(std::string(Name(hindrance.state)));
  message->set_reason(hindrance.reason);
  if (hindrance.drain != nullptr) message->set_drain(hindrance.drain->target);
  if (hindrance.holder != nullptr) {
    message->set_job(base::ToString(hindrance.holder->row.id));
    message->set_job_name(hindrance.holder->row.spec.name);
    message->set_owner(hindrance.holder->row.user);
  }
  message->set_since(hindrance.since);
  if (hindrance.until) message->set_until(now.wall + (*hindrance.until - now.steady));
}

// As LEFT says, where something is known of it.
void EncodeEnd(const core::State& state, const core::Job& job, const core::Now& now,
               v1::JobDetail* detail) {
  constexpr double kLongest = 1e9;  // of what ranks tell
  if (const auto left = core::TimeLeftOf(state, job, now)) {
    const double seconds = std::min(left->seconds, kLongest);
    detail->set_expected_end(now.wall + static_cast<int64_t>(seconds * 1e6));
  } else if (job.attempt && job.attempt->row.stop && job.attempt->expected_end) {
    detail->set_expected_end(now.wall + (*job.attempt->expected_end - now.steady));
  }
}

// Among what happened, by time.
void EncodeReasons(const core::Job& job, v1::JobDetail* detail) {
  for (const core::ReasonSince& reason : job.reasons) {
    v1::JobEvent* event = detail->add_events();
    event->set_time(reason.at);
    event->set_text(reason.text);
  }
  std::stable_sort(detail->mutable_events()->begin(), detail->mutable_events()->end(),
                   [](const v1::JobEvent& left, const v1::JobEvent& right) {
                     return left.time() < right.time();
                   });
}

}  // namespace

void EncodeWait(const core::State& state, base::JobId id, const core::Now& now,
                v1::JobDetail* detail) {
  const core::Job* job = core::FindJob(state, id);
  if (job == nullptr) return;
  EncodeEnd(state, *job, now, detail);
  EncodeReasons(*job, detail);
  detail->set_history_note(core::HistoryNote(state, *job, now));
  const std::optional<core::Wait> wait = core::WaitOf(state, *job, now);
  if (!wait) return;
  v1::Wait* message = detail->mutable_wait();
  if (wait->behind != nullptr) message->set_behind(base::ToString(wait->behind->row.id));
  message->set_free(wait->free);
  message->set_minutes_that_pass(wait->minutes_that_pass);
  if (wait->why_not_known) message->set_why_not_known(*wait->why_not_known);
  for (const core::Hindrance& hindrance : wait->hindrances) {
    if (message->hindrances_size() == kMostHindrances) break;
    EncodeHindrance(hindrance, now, message->add_hindrances());
  }
  message->set_more(static_cast<int64_t>(wait->hindrances.size()) - message->hindrances_size());
}

}  // namespace trainctl::views
