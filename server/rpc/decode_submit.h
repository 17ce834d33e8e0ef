// SubmitRequest → the submission that the coordinator takes, with every job checked again: nothing
// that a client sent is believed.
#pragma once

#include <cstddef>

#include "common/base/result.h"
#include "server/core/events.h"

namespace trainctl::v1 {
class SubmitRequest;
}

namespace trainctl::rpc {

inline constexpr int kMaxJobsPerSubmit = 1000;
inline constexpr size_t kMaxRequestIdBytes = 256;
inline constexpr size_t kMaxJobBytes = 1 << 20;     // of one job's JSON
inline constexpr size_t kMaxAnnexBytes = 64 << 10;  // of an inspection's or a prediction's JSON

// Without its user, who is the caller. kInvalid lists the problems of all jobs.
base::Result<core::JobsSubmitted> DecodeSubmit(const v1::SubmitRequest& request);

}  // namespace trainctl::rpc
