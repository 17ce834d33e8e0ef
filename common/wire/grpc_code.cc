#include "common/wire/grpc_code.h"

namespace trainctl::wire {
namespace {

// https://grpc.github.io/grpc/core/md_doc_statuscodes.html
enum GrpcCode {
  kGrpcCancelled = 1,
  kGrpcInvalidArgument = 3,
  kGrpcDeadlineExceeded = 4,
  kGrpcNotFound = 5,
  kGrpcPermissionDenied = 7,
  kGrpcResourceExhausted = 8,
  kGrpcFailedPrecondition = 9,
  kGrpcAborted = 10,
  kGrpcOutOfRange = 11,
  kGrpcInternal = 13,
  kGrpcUnavailable = 14,
  kGrpcUnauthenticated = 16,
};

}  // namespace

int ToGrpcCode(base::Code code) {
  switch (code) {
    case base::Code::kInvalid: return kGrpcInvalidArgument;
    case base::Code::kNotFound: return kGrpcNotFound;
    case base::Code::kUnavailable: return kGrpcUnavailable;
    case base::Code::kExhausted: return kGrpcResourceExhausted;
    case base::Code::kConflict: return kGrpcFailedPrecondition;
    case base::Code::kDenied: return kGrpcPermissionDenied;
    case base::Code::kIo:
    case base::Code::kInternal: return kGrpcInternal;
  }
  return kGrpcInternal;
}

base::Code FromGrpcCode(int code) {
  switch (code) {
    case kGrpcInvalidArgument:
    case kGrpcOutOfRange: return base::Code::kInvalid;
    case kGrpcNotFound: return base::Code::kNotFound;
    case kGrpcCancelled:
    case kGrpcDeadlineExceeded:
    case kGrpcAborted:
    case kGrpcUnavailable: return base::Code::kUnavailable;
    case kGrpcResourceExhausted: return base::Code::kExhausted;
    case kGrpcFailedPrecondition: return base::Code::kConflict;
    case kGrpcPermissionDenied:
    case kGrpcUnauthenticated: return base::Code::kDenied;
    default: return base::Code::kInternal;
  }
}

}  // namespace trainctl::wire
