#include "server/views/encode_job.h"

#include "common/estimate/memory_estimate.h"
#include "common/job/job_json.h"
#include "common/job/output_folder.h"
#include "common/rank/rank_json.h"
#include "common/wire/metric_point.h"
#include "proto/trainctl.pb.h"

namespace trainctl::views {
namespace {

void EncodeProgress(const core::JobProgress& progress, v1::JobView* view) {
  view->set_step(progress.step);
  view->set_steps(progress.steps);
  if (progress.loss) view->set_loss(*progress.loss);
  view->set_peak_allocated_bytes(progress.peak_allocated_bytes);
}

void EncodeEnd(const job::AttemptEnd& end, v1::AttemptView* view) {
  view->set_outcome(std::string(job::Name(end.outcome)));
  view->set_message(end.message);
  if (end.rank) view->set_rank(*end.rank);
  if (end.exit_code) view->set_exit_code(*end.exit_code);
  if (end.signal) view->set_signal(*end.signal);
  if (end.oom) view->set_oom_json(job::ToJson(*end.oom));
  view->set_last_log_lines(end.last_log_lines);
}

void EncodeRank(const core::RankRow& row, v1::RankView* view) {
  view->set_rank(row.key.rank);
  view->set_worker(row.worker);
  view->set_host(row.host);
  view->set_device_uuid(row.device_uuid);
  view->set_device_name(row.device_name);
  view->set_phase(std::string(job::Name(row.phase.phase)));
  view->set_step(row.progress.step);
  view->set_pid(row.started.pid);
  view->set_commit(row.started.commit);
  view->set_libtorch(row.started.libtorch);
  view->set_nccl(row.started.nccl);
  view->set_driver(row.started.driver);
}

void EncodeArtifact(const core::ArtefactRow& row, const std::vector<store::StoredAttempt>& attempts,
                    v1::Artifact* artifact) {
  artifact->set_kind(row.saved.kind);
  artifact->set_path(row.saved.path);
  artifact->set_attempt(row.key.attempt);
  artifact->set_rank(row.key.rank);
  artifact->set_bytes(row.saved.bytes);
  artifact->set_time(row.at);
  for (const store::StoredAttempt& attempt : attempts) {
    for (const core::RankRow& rank : attempt.ranks) {
      if (rank.key != row.key) continue;
      artifact->set_host(rank.host);
      artifact->set_worker(rank.worker);
    }
  }
}

}  // namespace

v1::JobView EncodeJob(const coordinator::JobSnapshot& snapshot) {
  const core::JobRow& row = snapshot.job.row;
  const core::JobStatus& status = snapshot.job.status;
  v1::JobView view;
  view.set_id(base::ToString(row.id));
  view.set_name(row.spec.name);
  view.set_owner(row.user);
  if (row.group) view.set_group(base::ToString(row.group));
  view.set_group_name(snapshot.job.group_name);
  view.set_state(std::string(job::Name(status.state)));
  if (status.end) {
    view.set_outcome(std::string(job::Name(status.end->outcome)));
    view.set_message(status.end->message);
  }
  view.set_reason(snapshot.reason);
  EncodeProgress(status.progress, &view);
  if (snapshot.job.tokens_per_second) view.set_tokens_per_second(*snapshot.job.tokens_per_second);
  view.set_attempt(status.attempt);
  view.set_devices(row.spec.devices);
  for (const std::string& worker : snapshot.job.placement) view.add_placement(worker);
  view.set_submitted_at(row.submitted_at);
  view.set_started_at(status.started_at);
  view.set_ended_at(status.ended_at);
  if (status.as_expected) view.set_as_expected(*status.as_expected);
  view.set_priority(job::PriorityOf(row.spec));
  view.set_exclusive(row.spec.exclusive);
  view.set_remaining_seconds(snapshot.remaining_seconds);
  for (const auto& [key, value] : row.spec.tags) view.add_tags(key + "=" + value);
  view.set_predicted_start(snapshot.predicted_start);
  view.set_told_at(snapshot.at);
  if (job::WritesOutput(row.spec)) view.set_output_dir(job::NormalFolder(*row.spec.output.dir));
  return view;
}

v1::AttemptView EncodeAttempt(const store::StoredAttempt& attempt) {
  v1::AttemptView view;
  view.set_attempt(attempt.row.attempt);
  view.set_started_at(attempt.row.placed_at);
  view.set_ended_at(attempt.row.ended_at);
  view.set_micro_batch_size(attempt.row.micro_batch_size);
  view.set_trial(std::string(core::Name(attempt.row.trial)));
  if (attempt.row.end) EncodeEnd(*attempt.row.end, &view);
  for (const core::RankRow& rank : attempt.ranks) EncodeRank(rank, view.add_ranks());
  return view;
}

v1::JobDetail EncodeDetail(const coordinator::JobSnapshot& snapshot,
                           const coordinator::JobDetail& detail) {
  v1::JobDetail message;
  *message.mutable_view() = EncodeJob(snapshot);
  const core::JobRow& row = snapshot.job.row;
  message.set_job_json(row.unreadable ? row.unreadable->text : job::ToJson(row.spec));
  if (row.inspection) message.set_inspection_json(job::ToJson(*row.inspection));
  if (row.prediction) message.set_prediction_json(job::ToJson(*row.prediction));
  message.set_auto_micro_batch(row.auto_micro_batch);
  message.set_logs_removed_at(detail.job.logs_removed_at);
  for (const store::StoredAttempt& attempt : detail.attempts)
    *message.add_attempts() = EncodeAttempt(attempt);
  for (const core::EventRow& said : detail.events) {
    v1::JobEvent* event = message.add_events();
    event->set_time(said.at);
    event->set_text(said.text);
  }
  for (const job::MetricSummary& summary : detail.summaries)
    *message.add_summaries() = wire::ToWire(summary);
  for (const core::ArtefactRow& saved : detail.artefacts)
    EncodeArtifact(saved, detail.attempts, message.add_artifacts());
  for (const job::RankContinuation& said : detail.continuations) {
    v1::Continuation* continuation = message.add_continuations();
    continuation->set_step(said.step);
    continuation->set_place(said.place);
    continuation->set_prompt(said.prompt);
    continuation->set_text(said.text);
  }
  message.mutable_text_steps()->Add(detail.text_steps.begin(), detail.text_steps.end());
  return message;
}

}  // namespace trainctl::views
