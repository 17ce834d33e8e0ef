#include "server/rpc/parse_request.h"

#include <google/protobuf/descriptor.h>
#include <grpcpp/support/proto_buffer_reader.h>

#include <string>

#include "server/rpc/field_count.h"
#include "server/rpc/request_budget.h"

namespace trainctl::rpc {
namespace {

constexpr int64_t kUsualBytes = 2 << 20;     // a job's JSON has at most half of it
constexpr int64_t kStreamBytes = 256 << 10;  // of requests that are kept while a stream is open

base::Error Unreadable(const google::protobuf::Message& request) {
  return {base::Code::kInvalid, "the request can't be read: expected a " +
                                    request.GetDescriptor()->full_name() + " of at most " +
                                    std::to_string(kMaxRequestFields) + " fields"};
}

}  // namespace

int64_t MaxRequestBytes(std::string_view rpc) {
  if (rpc == "Submit" || rpc == "EarlierRuns") return RequestBudget::kLargest;
  if (rpc == "Watch" || rpc == "Logs" || rpc == "Metrics") return kStreamBytes;
  return kUsualBytes;
}

base::Status ParseRequest(grpc::ByteBuffer* bytes, int64_t most_bytes,
                          google::protobuf::Message* request) {
  const auto size = static_cast<int64_t>(bytes->Length());
  if (size > most_bytes) {
    return base::Error{base::Code::kExhausted, "the request has " + std::to_string(size) +
                                                   " bytes: expected at most " +
                                                   std::to_string(most_bytes)};
  }
  if (size == 0) return base::Ok{};
  grpc::ProtoBufferReader counted(bytes);
  if (!HasAtMostFields(&counted, request->GetDescriptor(), kMaxRequestFields))
    return Unreadable(*request);
  grpc::ProtoBufferReader read(bytes);
  if (!request->ParseFromZeroCopyStream(&read)) return Unreadable(*request);
  return base::Ok{};
}

}  // namespace trainctl::rpc
