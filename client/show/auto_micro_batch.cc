#include "client/show/auto_micro_batch.h"

#include <algorithm>

#include "common/job/job_json.h"

namespace trainctl::client {
namespace {

// That is run, or to be tried next; 0: the job can't be read.
int64_t SizeNow(const v1::JobDetail& detail) {
  const base::Result<job::JobSpec> job = job::FromJson(detail.job_json());
  return job.ok() ? job->train.micro_batch_size.value_or(0) : 0;
}

const v1::AttemptView* ProvingAttempt(const v1::JobDetail& detail) {
  const auto found =
      std::find_if(detail.attempts().begin(), detail.attempts().end(),
                   [](const v1::AttemptView& attempt) { return attempt.trial() == "passed"; });
  return found == detail.attempts().end() ? nullptr : &*found;
}

bool HasFailed(const v1::AttemptView& attempt) { return attempt.trial() == "failed"; }

std::string TrialText(const v1::JobDetail& detail) {
  const int64_t size_now = SizeNow(detail);
  const std::string size = std::to_string(size_now);
  if (const v1::AttemptView* proof = ProvingAttempt(detail)) {
    return size + " proven by trial (attempt " + std::to_string(proof->attempt()) + ")";
  }
  const bool has_failed = std::any_of(
      detail.attempts().begin(), detail.attempts().end(), [&](const v1::AttemptView& attempt) {
        return HasFailed(attempt) && attempt.micro_batch_size() == size_now;
      });
  if (has_failed) return "not even " + size + " fits";
  return size + (detail.view().state() == "FINISHED" ? " never proven" : " not proven yet");
}

}  // namespace

std::string AutoMicroBatchText(const v1::JobDetail& detail) {
  if (detail.auto_micro_batch() == 0) return "";
  return "auto: " + std::to_string(detail.auto_micro_batch()) + " by the estimate, " +
         TrialText(detail);
}

Json AutoMicroBatchRecord(const v1::JobDetail& detail) {
  if (detail.auto_micro_batch() == 0) return nullptr;
  const v1::AttemptView* proof = ProvingAttempt(detail);
  return {{"estimated", detail.auto_micro_batch()},
          {"size", SizeNow(detail)},
          {"proven_by", proof != nullptr ? Json(proof->attempt()) : Json(nullptr)}};
}

std::string FailedTrialText(const v1::AttemptView& attempt) {
  if (!HasFailed(attempt)) return "";
  return "micro batch " + std::to_string(attempt.micro_batch_size()) +
         " does not fit, found by trial";
}

int64_t CountedAttempts(const v1::JobDetail& detail) {
  return detail.attempts_size() -
         std::count_if(detail.attempts().begin(), detail.attempts().end(), HasFailed);
}

}  // namespace trainctl::client
