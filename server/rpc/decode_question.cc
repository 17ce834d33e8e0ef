#include "server/rpc/decode_question.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "common/estimate/run_time.h"
#include "common/job/job_json.h"
#include "proto/trainctl.pb.h"
#include "server/rpc/decode_submit.h"

namespace trainctl::rpc {
namespace {

base::Error Invalid(const std::string& text) { return {base::Code::kInvalid, text}; }

base::Error TooMany(const std::string& field, int count, int bound) {
  return Invalid(field + ": " + std::to_string(count) + ": expected at most " +
                 std::to_string(bound));
}

base::Error TooLong(const std::string& field, size_t bound) {
  return Invalid(field + ": longer than " + std::to_string(bound) + " bytes");
}

base::Error Negative(const std::string& field, int64_t value) {
  return Invalid(field + ": " + std::to_string(value) + ": expected a number from 0");
}

// "lab=2" | "lab"
store::TagFilter DecodeTag(const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos) return {text, std::nullopt};
  return {text.substr(0, equals), text.substr(equals + 1)};
}

}  // namespace

base::Result<std::vector<std::string>> DecodeNames(
    const google::protobuf::RepeatedPtrField<std::string>& jobs, Names names) {
  if (names == Names::kRequired && jobs.empty())
    return Invalid("jobs: empty: expected ids or names of jobs or groups");
  if (jobs.size() > kMaxNames) return TooMany("jobs", jobs.size(), kMaxNames);
  return std::vector<std::string>(jobs.begin(), jobs.end());
}

base::Result<ListQuestion> DecodeList(const v1::ListRequest& request) {
  auto names = DecodeNames(request.jobs(), Names::kOptional);
  if (!names) return names.error();
  ListQuestion question{std::move(*names), {}};
  for (const std::string& name : request.states()) {
    const auto state = job::ParseJobState(name);
    if (!state)
      return Invalid("states: '" + name +
                     "': expected QUEUED, STARTING, RUNNING, STOPPING or FINISHED");
    question.filter.states.push_back(*state);
  }
  for (const std::string& name : request.outcomes()) {
    const auto outcome = job::ParseOutcome(name);
    if (!outcome) return Invalid("outcomes: '" + name + "': expected one such as SUCCEEDED");
    question.filter.outcomes.push_back(*outcome);
  }
  if (request.users_size() > kMaxNames) return TooMany("users", request.users_size(), kMaxNames);
  question.filter.users.assign(request.users().begin(), request.users().end());
  if (request.tags_size() > kMaxTags) return TooMany("tags", request.tags_size(), kMaxTags);
  for (const std::string& tag : request.tags()) question.filter.tags.push_back(DecodeTag(tag));
  if (request.limit() < 0) return Negative("limit", request.limit());
  if (request.names_size() > kMaxNames) return TooMany("names", request.names_size(), kMaxNames);
  question.filter.names.assign(request.names().begin(), request.names().end());
  question.filter.unfinished_only = request.unfinished_only();
  if (request.ended_before() < 0) return Negative("ended_before", request.ended_before());
  question.filter.ended_before = request.ended_before();
  if (!request.before().empty()) {
    const auto job = base::ParseJobId(request.before());
    if (!job)
      return Invalid("before: '" + request.before().substr(0, 64) + "': expected a job's id");
    question.filter.before = *job;
  }
  if (request.limit() > 0) question.filter.limit = std::min(request.limit(), kMaxListedJobs);
  return question;
}

base::Result<std::vector<coordinator::RunKeys>> DecodeKeys(const v1::EarlierRunsRequest& request) {
  if (request.jobs_size() > kMaxJobsPerSubmit)
    return TooMany("jobs", request.jobs_size(), kMaxJobsPerSubmit);
  std::vector<coordinator::RunKeys> keys;
  for (const v1::JobSubmission& job : request.jobs()) {
    const auto spec = job::FromJson(job.job_json());
    if (!spec) return spec.error();
    const auto inspection = job::InspectionFromJson(job.inspection_json());
    if (!inspection) return inspection.error();
    keys.push_back(coordinator::KeysOf(*spec, *inspection));
  }
  return keys;
}

base::Result<const v1::InspectRequest*> CheckInspect(const v1::InspectRequest* request) {
  if (request->job_json().size() > kMaxJobBytes) return TooLong("job_json", kMaxJobBytes);
  const auto spec = job::FromJson(request->job_json());
  if (!spec) return spec.error();
  return request;
}

base::Result<const v1::ReadArtifactRequest*> CheckRead(const v1::ReadArtifactRequest* request) {
  if (request->offset() < 0) return Negative("offset", request->offset());
  return request;
}

base::Result<const v1::AuditRequest*> CheckAudit(const v1::AuditRequest* request) {
  if (request->before() < 0) return Negative("before", request->before());
  if (request->limit() >= 1 && request->limit() <= kMaxAuditEntries) return request;
  return Invalid("limit: " + std::to_string(request->limit()) + ": expected from 1 to " +
                 std::to_string(kMaxAuditEntries));
}

}  // namespace trainctl::rpc
