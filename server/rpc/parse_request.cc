#include "server/rpc/parse_request.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>
#include <grpcpp/support/proto_buffer_reader.h>

#include <string>

#include "server/rpc/request_budget.h"

namespace trainctl::rpc {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::internal::WireFormatLite;

constexpr int64_t kUsualBytes = 2 << 20;     // a job's JSON has at most half of it
constexpr int64_t kStreamBytes = 256 << 10;  // of requests that are kept while a stream is open

// Takes every field off `left`. False: there are more, or the bytes are no message's.
bool CountFields(google::protobuf::io::CodedInputStream* in, const Descriptor* type, int* left) {
  while (const uint32_t tag = in->ReadTag()) {
    if (--*left < 0) return false;
    const auto* field = type->FindFieldByNumber(WireFormatLite::GetTagFieldNumber(tag));
    const bool is_message =
        field != nullptr && field->message_type() != nullptr &&
        WireFormatLite::GetTagWireType(tag) == WireFormatLite::WIRETYPE_LENGTH_DELIMITED;
    if (!is_message) {
      const auto wire = WireFormatLite::GetTagWireType(tag);
      if (wire == WireFormatLite::WIRETYPE_START_GROUP) return false;  // proto3 has none
      if (!WireFormatLite::SkipField(in, tag)) return false;
      continue;
    }
    uint32_t size = 0;
    if (!in->ReadVarint32(&size)) return false;
    const auto [limit, depth] = in->IncrementRecursionDepthAndPushLimit(static_cast<int>(size));
    if (depth < 0 || !CountFields(in, field->message_type(), left)) return false;
    if (!in->DecrementRecursionDepthAndPopLimit(limit)) return false;
  }
  return true;
}

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
  google::protobuf::io::CodedInputStream in(&counted);
  int left = kMaxRequestFields;
  if (!CountFields(&in, request->GetDescriptor(), &left)) return Unreadable(*request);
  grpc::ProtoBufferReader read(bytes);
  if (!request->ParseFromZeroCopyStream(&read)) return Unreadable(*request);
  return base::Ok{};
}

}  // namespace trainctl::rpc
