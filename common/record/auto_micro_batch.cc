#include "common/record/auto_micro_batch.h"

#include <algorithm>

#include "common/job/job_json.h"

namespace trainctl::record {

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

bool HasFailedTrial(const v1::AttemptView& attempt) { return attempt.trial() == "failed"; }

Json AutoMicroBatchRecord(const v1::JobDetail& detail) {
  if (detail.auto_micro_batch() == 0) return nullptr;
  const v1::AttemptView* proof = ProvingAttempt(detail);
  return {{"estimated", detail.auto_micro_batch()},
          {"size", SizeNow(detail)},
          {"proven_by", proof != nullptr ? Json(proof->attempt()) : Json(nullptr)}};
}

int64_t CountedAttempts(const v1::JobDetail& detail) {
  return detail.attempts_size() -
         std::count_if(detail.attempts().begin(), detail.attempts().end(), HasFailedTrial);
}

}  // namespace trainctl::record
