// A request's bytes as its message, bounded before anything is made of them (field_count.h).
#pragma once

#include <google/protobuf/message.h>
#include <grpcpp/support/byte_buffer.h>

#include <cstdint>
#include <string_view>

#include "common/base/result.h"

namespace trainctl::rpc {

// How many bytes a request of this RPC may have.
int64_t MaxRequestBytes(std::string_view rpc);

// kExhausted: it is larger than most_bytes. kInvalid: it has too many fields, or is no such
// message.
base::Status ParseRequest(grpc::ByteBuffer* bytes, int64_t most_bytes,
                          google::protobuf::Message* request);

}  // namespace trainctl::rpc
