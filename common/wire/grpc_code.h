// base::Code ↔ gRPC status codes, as the numbers that gRPC specifies, so that nobody links gRPC for
// them. The API's promise of codes stands at the top of proto/trainctl.proto.
#pragma once

#include "common/base/result.h"

namespace trainctl::wire {

// kIo and kInternal are both INTERNAL (13): the other side can do nothing about either.
int ToGrpcCode(base::Code code);

// Of any status but OK (0). CANCELLED, DEADLINE_EXCEEDED and ABORTED are kUnavailable: trying again
// may help. Codes that this API does not use are kInternal.
base::Code FromGrpcCode(int code);

// Trailing metadata of each unary answer. A status without it is gRPC's own: nobody answered.
inline constexpr const char* kAnswered = "trainctl-answered";

// Trailing metadata of a call that was refused because its user calls too often: after how many
// milliseconds to make it again.
inline constexpr const char* kRetryAfterMs = "trainctl-retry-after-ms";

}  // namespace trainctl::wire
