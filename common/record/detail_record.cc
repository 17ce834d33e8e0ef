#include "common/record/detail_record.h"

#include "common/estimate/lora_targets.h"
#include "common/job/check_job.h"
#include "common/job/job_json.h"
#include "common/rank/reduction.h"
#include "common/record/auto_micro_batch.h"
#include "common/record/foresight.h"
#include "common/record/job_record.h"
#include "common/record/summaries.h"

namespace trainctl::record {
namespace {

// Of a newer coordinator as it came. LoRA's targets are named once the model is known.
Json JobAsItRuns(const v1::JobDetail& detail) {
  const base::Result<job::JobSpec> job = job::FromJson(detail.job_json());
  if (!job.ok()) return Parsed(detail.job_json());
  job::JobSpec resolved = job::ResolveJob(*job);
  const auto inspection = job::InspectionFromJson(detail.inspection_json());
  if (resolved.lora && inspection.ok())
    resolved.lora->targets = job::TargetsInForce(*resolved.lora, inspection->model);
  return Parsed(job::ToJson(resolved));
}

Json RankJson(const v1::RankView& rank) {
  return {{"rank", rank.rank()},
          {"worker", rank.worker()},
          {"host", rank.host()},
          {"device_uuid", rank.device_uuid()},
          {"device_name", rank.device_name()},
          {"phase", rank.phase()},
          {"step", rank.step()},
          {"pid", rank.pid()},
          {"commit", rank.commit()},
          {"libtorch", rank.libtorch()},
          {"nccl", rank.nccl()},
          {"driver", rank.driver()}};
}

Json AttemptJson(const v1::AttemptView& attempt) {
  Json ranks = Json::array();
  for (const v1::RankView& rank : attempt.ranks()) ranks.push_back(RankJson(rank));
  return {{"attempt", attempt.attempt()},
          {"outcome", attempt.outcome().empty() ? Json(nullptr) : Json(attempt.outcome())},
          {"message", attempt.message()},
          {"micro_batch_size",
           attempt.micro_batch_size() > 0 ? Json(attempt.micro_batch_size()) : Json(nullptr)},
          {"trial", attempt.trial()},
          {"started_at", Seconds(attempt.started_at())},
          {"ended_at", Seconds(attempt.ended_at())},
          {"rank", attempt.has_rank() ? Json(attempt.rank()) : Json(nullptr)},
          {"exit_code", attempt.has_exit_code() ? Json(attempt.exit_code()) : Json(nullptr)},
          {"signal", attempt.has_signal() ? Json(attempt.signal()) : Json(nullptr)},
          {"oom", Parsed(attempt.oom_json())},
          {"last_log_lines", attempt.last_log_lines()},
          {"ranks", ranks}};
}

}  // namespace

Json DetailRecord(const v1::JobDetail& detail) {
  Json record = JobRecord(detail.view());
  record["job"] = JobAsItRuns(detail);
  record["inspection"] = Parsed(detail.inspection_json());
  record["prediction"] = Parsed(detail.prediction_json());
  const base::Result<job::Prediction> prediction =
      job::PredictionFromJson(detail.prediction_json());
  record["prediction_errors"] =
      prediction.ok() ? ForesightRecords(*prediction, detail) : Json::array();
  record["auto_micro_batch"] = AutoMicroBatchRecord(detail);
  record["attempts"] = Json::array();
  for (const v1::AttemptView& attempt : detail.attempts())
    record["attempts"].push_back(AttemptJson(attempt));
  record["events"] = Json::array();
  for (const v1::JobEvent& event : detail.events())
    record["events"].push_back({{"time", Seconds(event.time())}, {"text", event.text()}});
  record["continuations"] = Json::array();
  for (const v1::Continuation& said : detail.continuations()) {
    record["continuations"].push_back({{"step", said.step()},
                                       {"place", said.place()},
                                       {"prompt", said.prompt()},
                                       {"text", said.text()}});
  }
  record["text_steps"] = detail.text_steps();
  record["summaries"] = Json::array();
  const std::vector<job::MetricSummary> summaries = SummariesOf(detail);
  for (const job::MetricSummary& summary : summaries) {
    record["summaries"].push_back({{"name", summary.name},
                                   {"rank", summary.rank ? Json(*summary.rank) : Json(nullptr)},
                                   {"phase", Name(summary.phase)},
                                   {"latest", summary.latest},
                                   {"min", summary.min},
                                   {"max", summary.max},
                                   {"mean", job::Average(summary, summaries)},
                                   {"count", summary.count}});
  }
  return record;
}

}  // namespace trainctl::record
