#include "server/rpc/decode_lease.h"

#include <string>

#include "common/base/size.h"
#include "proto/trainctl.pb.h"

namespace trainctl::rpc {
namespace {

base::Error Invalid(const std::string& text) { return {base::Code::kInvalid, text}; }

base::Status CheckNotNegative(const std::string& field, int64_t value) {
  if (value >= 0) return base::Ok{};
  return Invalid(field + ": " + std::to_string(value) + ": expected a number from 0");
}

// Longer is nobody's lease, whatever the policy says. As microseconds it may be no number at all.
base::Status CheckSeconds(const std::string& field, int64_t seconds) {
  if (base::Status status = CheckNotNegative(field, seconds); !status) return status;
  if (seconds <= kMostLeaseSeconds) return base::Ok{};
  return Invalid("a lease for " + base::FormatDuration(seconds) + ": expected at most " +
                 base::FormatDuration(kMostLeaseSeconds));
}

}  // namespace

base::Result<core::LeaseWish> DecodeWish(const v1::LeaseWish& wish) {
  if (base::Status start = CheckNotNegative("wish.start", wish.start()); !start)
    return start.error();
  if (base::Status seconds = CheckSeconds("wish.seconds", wish.seconds()); !seconds)
    return seconds.error();
  return core::LeaseWish{.devices = wish.devices(),
                         .host = wish.host(),
                         .model = wish.gpu_model(),
                         .start = wish.start(),
                         .length_us = wish.seconds() * 1'000'000};
}

base::Result<coordinator::Coordinator::NewLeaseRequest> DecodeLease(
    const v1::CreateLeaseRequest& request) {
  if (request.request_id().empty() || request.request_id().size() > kMaxLeaseRequestIdBytes) {
    return Invalid("request_id: " + std::to_string(request.request_id().size()) +
                   " bytes: expected from 1 to " + std::to_string(kMaxLeaseRequestIdBytes));
  }
  const auto wish = DecodeWish(request.wish());
  if (!wish) return wish.error();
  return coordinator::Coordinator::NewLeaseRequest{request.request_id(), request.name(), *wish};
}

base::Result<core::LeaseExtension> DecodeExtension(const v1::ExtendLeaseRequest& request) {
  if (base::Status seconds = CheckSeconds("seconds", request.seconds()); !seconds)
    return seconds.error();
  if (base::Status end = CheckNotNegative("end_was", request.end_was()); !end) return end.error();
  return core::LeaseExtension{request.seconds() * 1'000'000, request.end_was()};
}

}  // namespace trainctl::rpc
