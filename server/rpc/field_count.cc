#include "server/rpc/field_count.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

namespace trainctl::rpc {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::internal::WireFormatLite;

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

}  // namespace

bool HasAtMostFields(google::protobuf::io::ZeroCopyInputStream* bytes, const Descriptor* type,
                     int most) {
  google::protobuf::io::CodedInputStream in(bytes);
  return CountFields(&in, type, &most);
}

}  // namespace trainctl::rpc
