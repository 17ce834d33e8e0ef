#include "client/show/auto_micro_batch.h"

#include <algorithm>

#include "client/show/decoded.h"
#include "common/record/auto_micro_batch.h"

namespace trainctl::client {
namespace {

std::string TrialText(const v1::JobDetail& detail) {
  const int64_t size_now = record::SizeNow(detail);
  const std::string size = std::to_string(size_now);
  if (const v1::AttemptView* proof = record::ProvingAttempt(detail)) {
    return size + " proven by trial (attempt " + std::to_string(proof->attempt()) + ")";
  }
  const bool has_failed = std::any_of(
      detail.attempts().begin(), detail.attempts().end(), [&](const v1::AttemptView& attempt) {
        return record::HasFailedTrial(attempt) && attempt.micro_batch_size() == size_now;
      });
  if (has_failed) return "not even " + size + " fits";
  return size + (HasEnded(detail.view()) ? " never proven" : " not proven yet");
}

}  // namespace

std::string AutoMicroBatchText(const v1::JobDetail& detail) {
  if (detail.auto_micro_batch() == 0) return "";
  return "auto: " + std::to_string(detail.auto_micro_batch()) + " by the estimate, " +
         TrialText(detail);
}

std::string FailedTrialText(const v1::AttemptView& attempt) {
  if (!record::HasFailedTrial(attempt)) return "";
  return "micro batch " + std::to_string(attempt.micro_batch_size()) +
         " does not fit, found by trial";
}

}  // namespace trainctl::client
