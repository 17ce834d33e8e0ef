#include "server/rpc/decode_submit.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/estimate/prediction.h"
#include "common/job/check_job.h"
#include "common/job/job_json.h"
#include "proto/trainctl.pb.h"

namespace trainctl::rpc {
namespace {

using Problems = std::vector<std::string>;

std::string TooLong(const std::string& field, size_t bytes, size_t bound) {
  return field + ": " + std::to_string(bytes) + " bytes: expected at most " + std::to_string(bound);
}

void CheckFrame(const v1::SubmitRequest& request, Problems* problems) {
  if (request.request_id().empty())
    problems->push_back(
        "request_id: empty: expected an id that the client chose for this submission");
  if (request.request_id().size() > kMaxRequestIdBytes) {
    problems->push_back(TooLong("request_id", request.request_id().size(), kMaxRequestIdBytes));
  }
  if (!request.group_name().empty() && !job::IsUsableName(request.group_name())) {
    problems->push_back(
        "group_name: expected 1 to 128 bytes without control characters and '/', no '-' at "
        "the front, and no id such as g3");
  }
  if (request.jobs_size() == 0) problems->push_back("jobs: empty: expected at least one");
  if (request.jobs_size() > kMaxJobsPerSubmit) {
    problems->push_back("jobs: " + std::to_string(request.jobs_size()) + ": expected at most " +
                        std::to_string(kMaxJobsPerSubmit));
  }
  const bool is_bounded = request.max_parallel() != 0;
  if (request.max_parallel() < 0 || (is_bounded && request.group_name().empty())) {
    problems->push_back("max_parallel: " + std::to_string(request.max_parallel()) +
                        ": expected a number of a group's jobs, or 0");
  }
  if (request.jobs_size() > 1 && request.group_name().empty()) {
    problems->push_back("group_name: empty: expected a name, since " +
                        std::to_string(request.jobs_size()) + " jobs are a group");
  }
}

// What a worker or the client's estimate said of the job; empty is fine.
template <class T, class Read>
std::optional<T> DecodeAnnex(const std::string& field, const std::string& text, Read read,
                             Problems* problems) {
  if (text.empty()) return std::nullopt;
  if (text.size() > kMaxAnnexBytes) {
    problems->push_back(TooLong(field, text.size(), kMaxAnnexBytes));
    return std::nullopt;
  }
  base::Result<T> value = read(text);
  if (value) return std::move(*value);
  problems->push_back(field + ": " + value.error().message);
  return std::nullopt;
}

core::Submission DecodeJob(const v1::JobSubmission& message, const std::string& place,
                           Problems* problems) {
  core::Submission submission;
  submission.inspection = DecodeAnnex<job::Inspection>(
      place + ".inspection_json", message.inspection_json(), job::InspectionFromJson, problems);
  submission.prediction = DecodeAnnex<job::Prediction>(
      place + ".prediction_json", message.prediction_json(), job::PredictionFromJson, problems);
  submission.micro_batch_auto = message.micro_batch_auto();
  if (message.job_json().size() > kMaxJobBytes) {
    problems->push_back(TooLong(place + ".job_json", message.job_json().size(), kMaxJobBytes));
    return submission;
  }
  auto spec = job::FromJson(message.job_json());
  if (!spec) {
    problems->push_back(place + ": " + spec.error().message);
    return submission;
  }
  const auto faults = job::CheckJob(*spec);
  if (!faults.empty()) problems->push_back(job::Format(faults, place));
  if (!spec->train.micro_batch_size) {
    problems->push_back(place +
                        ": train.micro_batch_size: \"auto\": expected a number, which the client "
                        "chooses (trainctl submit)");
  }
  submission.spec = std::move(*spec);
  return submission;
}

}  // namespace

base::Result<core::JobsSubmitted> DecodeSubmit(const v1::SubmitRequest& request) {
  Problems problems;
  CheckFrame(request, &problems);
  core::JobsSubmitted submission{
      request.request_id(), request.group_name(), {}, request.force(), {}, request.max_parallel()};
  for (int i = 0; i < request.jobs_size() && i < kMaxJobsPerSubmit; ++i) {
    submission.jobs.push_back(
        DecodeJob(request.jobs(i), "jobs[" + std::to_string(i) + "]", &problems));
  }
  if (problems.empty()) return submission;
  std::string text;
  for (const std::string& problem : problems) text += (text.empty() ? "" : "\n") + problem;
  return base::Error{base::Code::kInvalid, text};
}

}  // namespace trainctl::rpc
