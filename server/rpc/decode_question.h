// Requests that ask about jobs, as what is asked of the store or the loop. kInvalid names the
// field.
#pragma once

#include <google/protobuf/repeated_ptr_field.h>

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "server/coordinator/earlier_runs.h"
#include "server/coordinator/questions.h"

namespace trainctl::v1 {
class AuditRequest;
class EarlierRunsRequest;
class InspectRequest;
class ListRequest;
class ReadArtifactRequest;
}  // namespace trainctl::v1

namespace trainctl::rpc {

inline constexpr int kMaxNames = 1000;             // of jobs in one request
inline constexpr int kMaxTags = 50;                // to choose jobs by
inline constexpr int64_t kMaxListedJobs = 10'000;  // in one answer
inline constexpr int64_t kMaxAuditEntries = 1000;  //

// Whether the jobs must be named.
enum class Names { kRequired, kOptional };
base::Result<std::vector<std::string>> DecodeNames(
    const google::protobuf::RepeatedPtrField<std::string>& jobs, Names names);

struct ListQuestion {
  std::vector<std::string> names;  // none: all jobs
  store::JobFilter filter;
};
base::Result<ListQuestion> DecodeList(const v1::ListRequest& request);

// Of the jobs asked about, in their order.
base::Result<std::vector<coordinator::RunKeys>> DecodeKeys(const v1::EarlierRunsRequest& request);

// The request itself, if it is a valid one.
base::Result<const v1::InspectRequest*> CheckInspect(const v1::InspectRequest* request);
base::Result<const v1::ReadArtifactRequest*> CheckRead(const v1::ReadArtifactRequest* request);
base::Result<const v1::AuditRequest*> CheckAudit(const v1::AuditRequest* request);

}  // namespace trainctl::rpc
