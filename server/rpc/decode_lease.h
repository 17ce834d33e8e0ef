// Requests about leases, as the coordinator takes them. kInvalid names the field. What depends on
// the site and its policy is the core's to refuse (lease_wish.h).
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/base/result.h"
#include "server/coordinator/coordinator.h"

namespace trainctl::v1 {
class CreateLeaseRequest;
class ExtendLeaseRequest;
class LeaseWish;
}  // namespace trainctl::v1

namespace trainctl::rpc {

inline constexpr size_t kMaxLeaseRequestIdBytes = 128;
inline constexpr int64_t kMostLeaseSeconds = core::kFarthestLeaseUs / 1'000'000;

// Without its user, who is the caller.
base::Result<core::LeaseWish> DecodeWish(const v1::LeaseWish& wish);
base::Result<coordinator::Coordinator::NewLeaseRequest> DecodeLease(
    const v1::CreateLeaseRequest& request);

base::Result<core::LeaseExtension> DecodeExtension(const v1::ExtendLeaseRequest& request);

}  // namespace trainctl::rpc
